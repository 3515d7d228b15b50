"""What a localizer carries from frame to frame: the belief, the gates' memory and the last correction."""

from dataclasses import asdict, dataclass

import numpy as np

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.fusion.capf import Correction
from tmapr.gating import History, Sighting
from tmapr.types import Belief


@dataclass(frozen=True, slots=True)
class Track:
    """Nothing yet before the first frame."""

    belief: Belief | None = None
    history: History = History()  # noqa: RUF009 (immutable)
    correction: Correction | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs to continue bit for bit."""
        parts = {
            "belief.": self.belief,
            "accepted.": self.history.accepted,
            "dissent.": self.history.dissent,
            "correction.": self.correction,
        }
        arrays = {"dissenters": np.array(self.history.dissenters)}
        for prefix, part in parts.items():
            arrays |= put(prefix, _fields(part)) if part else {}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Track":
        """The track that `arrays` described."""
        belief, correction = take(arrays, "belief."), take(arrays, "correction.")
        accepted, dissent = _sighting(take(arrays, "accepted.")), _sighting(take(arrays, "dissent."))
        return cls(
            Belief(int(belief["stamp"]), belief["mean"], belief["covariance"]) if belief else None,
            History(accepted, dissent, int(arrays["dissenters"])),
            Correction(int(correction["stamp"]), correction["position"]) if correction else None,
        )


def _fields(part: Belief | Sighting | Correction) -> dict[str, np.ndarray]:
    return {name: np.array(field) for name, field in asdict(part).items() if field is not None}


def _sighting(arrays: Arrays) -> Sighting | None:
    return Sighting(int(arrays["stamp"]), arrays["position"], arrays.get("estimate")) if arrays else None
