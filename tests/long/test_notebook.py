"""The notebook runs in a kernel of this interpreter, beside nobody's home, and shows what it is committed with."""

import json
import os
import re
import subprocess
import sys

import pytest

from repository import ROOT

NOTEBOOK, SCRIPT = ROOT / "examples/localize.ipynb", ROOT / "benchmarks/notebook.py"
NUMBER = re.compile(r"\d+(?:\.\d+)?")
MOST = 300_000


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook with what its cells show now, and the folder that had to do as the user's home."""
    folder = tmp_path_factory.mktemp("notebook")
    home = folder / "home"
    home.mkdir()
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    called = [sys.executable, SCRIPT, "--out", folder / "executed.ipynb"]
    given = os.environ | {"HOME": str(home), "PYTHONPATH": paths}
    done = subprocess.run(called, cwd=folder, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "executed.ipynb").read_text()), home


@pytest.fixture(scope="module")
def committed():
    return json.loads(NOTEBOOK.read_text())


def read_cells(notebook, kind):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def read_shown(notebook):
    """The text that each cell of code shows, and what else it shows by kind."""
    shown = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", "")})
            kinds = sorted(kind for kind in data if kind != "text/plain")
            shown.append((output["output_type"], "".join(data["text/plain"]), kinds))
    return shown


def test_every_cell_is_executed_without_an_error(executed):
    notebook, _ = executed
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert {output["output_type"] for cell in cells for output in cell["outputs"]} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert not any(output.get("name") == "stderr" for cell in cells for output in cell["outputs"])


def test_the_night_is_localized(executed):
    text = "".join(shown for _, shown, _ in read_shown(executed[0]))
    (localized, frames), *_ = re.findall(r"localized on (\d+) of (\d+) frames", text)
    assert int(frames) == 70
    assert int(localized) >= 63
    (median,) = re.findall(r"while localized: (\S+) m off in the median", text)
    assert float(median) < 1.5


def test_it_shows_what_it_is_committed_with(executed, committed):
    """Word for word; numbers to what another processor may round otherwise."""
    shown, expected = read_shown(executed[0]), read_shown(committed)
    assert [(kind, NUMBER.sub("#", text), others) for kind, text, others in shown] == [
        (kind, NUMBER.sub("#", text), others) for kind, text, others in expected
    ]
    numbers, before = (
        [float(number) for _, text, _ in outputs for number in NUMBER.findall(text)] for outputs in (shown, expected)
    )
    assert numbers == pytest.approx(before, rel=0.1, abs=0.2)


def test_it_is_committed_with_its_pictures_small_and_without_traces_of_a_machine(committed):
    assert sum("image/png" in kinds for _, _, kinds in read_shown(committed)) == 2
    assert NOTEBOOK.stat().st_size < MOST
    assert not re.search(r"/(home|root|tmp|work|Users)/", NOTEBOOK.read_text())
    assert set(committed["metadata"]) == {"kernelspec"}


def test_its_links_lead_to_pages(committed):
    links = [link for text in read_cells(committed, "markdown") for link in re.findall(r"\]\(([^)]+)\)", text)]
    assert links
    assert [link for link in links if not (NOTEBOOK.parent / link).exists()] == []


def test_nothing_is_written_to_the_users_home(executed):
    assert list(executed[1].iterdir()) == []
