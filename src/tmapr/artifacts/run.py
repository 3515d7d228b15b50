"""The run folder: where everything that an experiment makes is kept, and under which name."""

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tmapr.artifacts.atomic import replacing, write_text
from tmapr.artifacts.names import file_name
from tmapr.exceptions import InputError
from tmapr.files import DOCUMENT_BYTES, SETTINGS_BYTES, open_regular, read_bytes

HEAD = "head.safetensors"
"""A pose head in the folder of its epoch, apr/000012."""

SO_FAR = ".so-far"
"""How the names of percepts end that are not all encoded yet."""

RESULTS = (
    *("experiment.toml", "map.npz", "keypoints.npz", "state.npz"),
    *("release.json", "provenance.json", "errors.json"),
)
"""What belongs together, with what is in estimates/ and percepts/."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of one run; sequences' names become file names one to one.

    `results` is where results lie that are not published yet, as `tmapr.artifacts.results` has it.
    """

    path: Path
    results: Path | None = None

    @property
    def _results(self) -> Path:
        return self.results or self.path

    @property
    def experiment(self) -> Path:
        """The settings, complete."""
        return self._results / "experiment.toml"

    @property
    def map(self) -> Path:
        """M₀ and A₀."""
        return self._results / "map.npz"

    @property
    def state(self) -> Path:
        """A_t, the belief and the gates' memory."""
        return self._results / "state.npz"

    @property
    def errors(self) -> Path:
        """What `evaluate` found."""
        return self._results / "errors.json"

    @property
    def provenance(self) -> Path:
        """How the estimates came about."""
        return self._results / "provenance.json"

    @property
    def release(self) -> Path:
        """Which release of a fleet it holds, if it came from one."""
        return self._results / "release.json"

    @property
    def apr(self) -> Path:
        """What training keeps: the folders of its best and its last epoch, and files that name them."""
        return self.path / "apr"

    @property
    def trained_head(self) -> Path | None:
        """The pose head of the best epoch, if one was trained here."""
        named = self.apr / "best"
        if not named.exists():
            return None
        head = self.apr / read_bytes(named, SETTINGS_BYTES).decode(errors="replace").strip() / HEAD
        if not is_trained_head(head) or not head.is_file():
            raise InputError(f"{named}: names no epoch that is there; remove {self.apr} and run `tmapr train` again")
        return head

    def model(self, name: str) -> Path:
        """What training a network keeps."""
        return self.apr if name == "apr" else self.path / "baselines" / name

    def cache(self, kind: str, sequence: str) -> Path:
        """What networks are trained on, a folder for each sequence; may be removed at any time."""
        return self.path / "cache" / kind / file_name(sequence)

    @property
    def comparison(self) -> Path:
        """What a comparison of methods leaves: a run folder for each of them and its seeds, and what was found."""
        return self.path / "compare"

    @property
    def comparison_json(self) -> Path:
        """What a comparison found."""
        return self.comparison / "comparison.json"

    def placements(self, sequence: str) -> Path:
        """Where every method puts a sequence's frames."""
        return self.comparison / f"{file_name(sequence)}.csv"

    @property
    def ablation(self) -> Path:
        """A run folder for each row of an ablation."""
        return self.path / "ablate"

    @property
    def ablation_json(self) -> Path:
        """What an ablation found."""
        return self.path / "ablation.json"

    @property
    def inputs(self) -> Path:
        """Which percepts a row of an ablation was made from."""
        return self.path / "inputs.json"

    @property
    def page(self) -> Path:
        """What `report` shows of the run."""
        return self.path / "report" / "index.html"

    @property
    def percepts_folder(self) -> Path:
        """The percept caches."""
        return self._results / "percepts"

    def percepts(self, sequence: str) -> Path:
        """A sequence's percept cache."""
        return self.percepts_folder / f"{file_name(sequence)}.npz"

    def keypoints(self, sequence: str) -> Path:
        """A sequence's keypoints, beside its percepts."""
        return self.percepts_folder / f"{file_name(sequence)}.keypoints.npz"

    def estimates(self, sequence: str) -> Path:
        """A sequence's estimates as a table."""
        return self._results / "estimates" / f"{file_name(sequence)}.csv"

    def beliefs(self, sequence: str) -> Path:
        """What the route filter believed after each frame of a sequence."""
        return self._results / "estimates" / f"{file_name(sequence)}.belief.npz"

    def candidates(self, sequence: str) -> Path:
        """The references that each frame of a sequence looks most like."""
        return self._results / "estimates" / f"{file_name(sequence)}.candidates.npz"

    def trajectory(self, sequence: str) -> Path:
        """A sequence's estimates for evo."""
        return self._results / "estimates" / f"{file_name(sequence)}.tum"


def is_trained_head(path: Path) -> bool:
    """Whether training named a file so: it lies in some run folder, or did before that was moved or trained anew."""
    return bool(re.fullmatch(rf"apr/\d{{6,18}}/{HEAD}", "/".join(path.parts[-3:])))


def copy_head(head: Path, folder: RunFolder) -> None:
    """Let another folder have a pose head that was trained in some run folder, as the best epoch of its own."""
    epoch = head.parent.name
    for file in filter(Path.is_file, (head, head.with_suffix(".json"), head.with_name("training.json"))):
        with replacing(folder.apr / epoch / file.name) as copy, open_regular(file) as original:
            shutil.copyfileobj(original, copy)
    write_text(folder.apr / "best", epoch)


def read_head_error(file: str | None) -> float | None:
    """The mean error of a pose head on its validation, metres, if there is a head and training left it beside it."""
    if file is None:
        return None
    head = Path(file)
    record = head.with_name("training.json")
    try:
        history = json.loads(read_bytes(record, DOCUMENT_BYTES))["history"]
        error = float(next(epoch["mean"] for epoch in history if epoch["number"] == int(head.parent.name)))
    except (OSError, InputError, ValueError, LookupError, TypeError, StopIteration, RecursionError, OverflowError):
        return None  # a head from elsewhere: it has to earn its trust without
    return error if 0 < error < float("inf") else None


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes; unlike that of settings it stays when a later version knows more of them."""
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
