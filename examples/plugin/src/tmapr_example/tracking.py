"""A tracking method: the last few best matches vote, and the newest counts if enough of them lie around it.

A toy. It has no model of motion, so that it needs frames before it believes a jump, and never notices a twin street.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tmapr import Belief, Judgement, Memory, Percept, Reason, Recognition, Verdict


class WindowVote:
    """Remembers where the last `window` frames looked like; made anew for every drive."""

    def __init__(self, memory: Memory, window: int = 5, share: float = 0.6) -> None:
        if window < 1 or not 0 < share <= 1:
            raise ValueError(f"window must be at least 1 frame and share within 0 and 1, got {window} and {share}")
        self._radius = memory.reference.place  # metres that are one place of this map
        self._window, self._share = window, share
        self._seen: NDArray[np.float64] = np.zeros((0, 2))

    def judge(self, percept: Percept, recognition: Recognition, belief: Belief) -> Judgement:  # noqa: ARG002
        """Accept the best match if enough of the window lie within a place of it."""
        best = recognition.first
        if best is None:
            return Judgement(Verdict(Reason.NO_CANDIDATE))
        self._seen = np.concatenate([self._seen, best.position[None]])[-self._window :]
        off = np.hypot(*(self._seen - best.position).T)
        agreement = float((off <= self._radius).sum() / self._window)
        moved = float(np.hypot(*(best.position - belief.position)))
        if agreement < self._share:
            return Judgement(Verdict(Reason.UNCONFIRMED, agreement, moved), best)
        far = moved > self._radius + belief.semi_axis
        verdict = Verdict(Reason.RELOCALIZED if far else Reason.ACCEPTED, agreement, moved)
        return Judgement(verdict, best, best.position, deviation=self._radius / 4)

    def arrays(self) -> Mapping[str, NDArray[np.float64]]:
        """The window."""
        return {"seen": self._seen}

    def restore(self, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        """Continue with another window."""
        seen = arrays["seen"]
        if seen.ndim != 2 or seen.shape[1] != 2 or len(seen) > self._window or seen.dtype != np.float64:
            raise ValueError(f"a window of {self._window} positions cannot be {seen.dtype} of shape {seen.shape}")
        self._seen = seen
