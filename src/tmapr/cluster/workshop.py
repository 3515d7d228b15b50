"""RUN/jobs: what orders are made from, and what they leave; gone when the map is published.

jobs/experiment-DIGEST.toml     the settings, for those who encode
jobs/parts/KEY.npz              percepts of some frames, and KEY.keypoints.npz their keypoints
jobs/joined/SEQ.npz             the same of a whole traverse
jobs/lessons/KEY.npz            what A₀ learns of some frames, and in which order
jobs/sums/KEY.npz               what K⁻¹ and K⁻¹W gain by that
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.names import file_name
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import Experiment, dump_experiment

JOBS = "jobs"


@dataclass(frozen=True, slots=True)
class Workshop:
    """Paths of the working files of one run folder; all who work for it see them by the same path."""

    path: Path

    @classmethod
    def of(cls, folder: RunFolder) -> "Workshop":
        """That of a run folder, by its absolute path: workers have other working directories."""
        return cls(folder.path.absolute() / JOBS)

    @property
    def run(self) -> RunFolder:
        """Whose it is."""
        return RunFolder(self.path.parent)

    def part(self, key: str) -> Path:
        """Percepts of some frames."""
        return self.path / "parts" / f"{key}.npz"

    def part_keypoints(self, key: str) -> Path:
        """Keypoints of the same frames."""
        return self.path / "parts" / f"{key}.keypoints.npz"

    def joined(self, sequence: str) -> Path:
        """Percepts of a traverse."""
        return self.path / "joined" / f"{file_name(sequence)}.npz"

    def joined_keypoints(self, sequence: str) -> Path:
        """Keypoints of a traverse."""
        return self.path / "joined" / f"{file_name(sequence)}.keypoints.npz"

    def lessons(self, key: str) -> Path:
        """What is to be learned of some frames."""
        return self.path / "lessons" / f"{key}.npz"

    def sums(self, key: str) -> Path:
        """What was learned of them."""
        return self.path / "sums" / f"{key}.npz"

    def keep_settings(self, experiment: Experiment) -> str:
        """Write the settings down, with paths as seen from here; the name of the file, which tells its content."""
        text = dump_experiment(experiment, self.path)
        name = f"experiment-{hashlib.sha256(text.encode()).hexdigest()[:16]}.toml"
        write_text(self.path / name, text)
        return name

    def clear(self) -> None:
        """Forget everything; a worker that has not heard of it yet writes what nobody asks for any more."""
        shutil.rmtree(self.path, ignore_errors=True)


def name_key(made_from: Mapping[str, object]) -> str:
    """SHA-256 of what something is made from, as canonical JSON."""
    text = json.dumps(made_from, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
