"""A drive's condition where its views are, behind the names by which a localizer asks the CPU's."""

import numpy as np
import torch

from tmapr.artifacts.arrays import Arrays
from tmapr.device.condition import DeviceCondition
from tmapr.device.graphs import Recorded
from tmapr.retrieval.condition import FEW, MOST, Shared
from tmapr.types import Estimate, Percept


class DriveCondition:
    """A drive's condition where its views are, for a localizer that tells of each estimate."""

    def __init__(self, there: DeviceCondition) -> None:
        self.there, device = there, there.mean.device
        self.descriptor = torch.zeros_like(there.mean)
        """Of the frame that is looked at."""
        self.held: int | None = None
        """The stamp of that frame."""
        self._share = torch.zeros((), dtype=torch.float64, device=device)
        self._due: float | None = None
        """How much of a new view the frame is that is counted before anything is asked again."""
        self._note = Recorded(lambda: there.note(self.descriptor, self._share), device)

    def send(self, percept: Percept) -> None:
        """The frame that is looked at, from the host."""
        self.descriptor.copy_(torch.from_numpy(percept.descriptor))
        self.held = percept.stamp

    def recall(self, stamp: int) -> Shared | None:
        """For who compares on the host: what the views of the drive share that a frame of this time belongs to."""
        self.settle()
        arrays = self.there.arrays()
        if not arrays or not self.there.turn_to(stamp):
            return None
        views = float(arrays["views"])
        return Shared(arrays["mean"], MOST * views / (views + FEW))

    def follow(self, estimate: Estimate) -> None:
        """Count the view that an estimate is of, as far as it shows the map and nothing that was shown before."""
        self.settle()
        if not estimate.route:
            return
        shown = (1.0 - estimate.route.p_off_map) if estimate.route.new_view else 0.0
        known = self.there.turn_to(estimate.percept.stamp)
        if self.held != estimate.percept.stamp:
            self.send(estimate.percept)
        if shown or not known:
            self._due = shown
        self.there.keep(estimate.percept.stamp)

    def settle(self) -> None:
        """Count what is due: before the next frame, since the device is idle then, and nobody waits for it."""
        due, self._due = self._due, None
        if due is not None:
            self._share.fill_(due)
            self._note()

    def arrays(self) -> dict[str, np.ndarray]:
        """As `retrieval.condition.Condition` has it."""
        self.settle()
        return self.there.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""
        self._due = None
        self.there.restore(arrays)
