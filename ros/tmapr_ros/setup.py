"""How colcon installs the package: the module, its marker in ament's index, its launch file."""

from setuptools import setup

NAME = "tmapr_ros"

setup(
    name=NAME,
    version="0.1.0",
    description="Localizes a robot from the topic of a thermal camera in a map made by tmapr",
    license="Apache-2.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", ["launch/localize.launch.py"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    entry_points={"console_scripts": [f"localize = {NAME}.node:main"]},
)
