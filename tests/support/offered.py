"""Distributions of others, made up: a module and the few files that an installer leaves beside it."""

from itertools import count

_NUMBERS = count()


def offer(folder, text, group="tmapr.descriptors", name="mine", distribution="mine", version="1.0"):
    """Install a distribution that offers `Made` of a module with this text; the module's name."""
    module = f"offered_{next(_NUMBERS)}"  # a new one: Python keeps what it has imported
    (folder / f"{module}.py").write_text(text)
    described = folder / f"{distribution}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (described / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:Made\n")
    return module
