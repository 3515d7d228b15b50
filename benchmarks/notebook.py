"""Executes examples/localize.ipynb in a kernel of this interpreter, and keeps what its cells show beside them.

`python benchmarks/notebook.py` does so in place, after the notebook or what it shows has changed. It works in a folder
of its own, which is also the home of all that Jupyter, IPython and matplotlib write.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

NOTEBOOK = Path(__file__).parents[1] / "examples/localize.ipynb"
KERNEL = "python3"
PATIENCE = 600
"""Seconds for a cell: nobody waits for ever where a kernel died."""


def settle(home: Path) -> None:
    """Let nothing be read from, or written to, the user's own folders; the kernel is this interpreter."""
    variables = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
    os.environ |= {name: str(home / name.lower()) for name in variables}
    os.environ |= {"JUPYTER_PATH": str(home / "jupyter"), "JUPYTER_PLATFORM_DIRS": "1"}
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
    }
    folder = home / "jupyter/kernels" / KERNEL
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec))


def execute(path: Path, out: Path, home: Path) -> None:
    """Write the notebook with what its cells show to `out`; a cell that fails is an error."""
    settle(home)
    # Jupyter looks at its variables when it is imported.
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    (work := home / "work").mkdir()
    options = {"timeout": PATIENCE, "kernel_name": KERNEL, "record_timing": False}
    NotebookClient(notebook, resources={"metadata": {"path": str(work)}}, **options).execute()
    # What differs from machine to machine, and says nothing of the notebook.
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL}}
    nbformat.validate(notebook)
    nbformat.write(notebook, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=NOTEBOOK)
    out = parser.parse_args().out
    with TemporaryDirectory(prefix="tmapr-notebook-") as home:
        execute(NOTEBOOK, out, Path(home))
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")
