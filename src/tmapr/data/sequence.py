"""A sequence of frames, whatever layout it lies in on disk. Images are read when they are asked for."""

from dataclasses import dataclass

from tmapr.types import CoordinateFrame, Frame


@dataclass(frozen=True, slots=True)
class Sequence:
    """One traverse in the order of its frames, and what its positions are relative to."""

    name: str
    frames: tuple[Frame, ...]
    frame: CoordinateFrame

    def __len__(self) -> int:
        return len(self.frames)
