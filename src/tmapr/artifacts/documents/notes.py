"""The notes in the headers of array files; what a program of somebody's own need not write has a default."""

from pydantic import Field, FiniteFloat, JsonValue, model_validator

from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.runs import RecordingMarks
from tmapr.geodesy import ENU, UTM
from tmapr.types import CoordinateFrame


class FrameNotes(Document):
    """What positions are relative to."""

    kind: str = "local"
    zone: str | None = None
    origin: tuple[FiniteFloat, ...] = ()

    @model_validator(mode="after")
    def refuse_nowhere(self) -> "FrameNotes":
        """Longitudes and latitudes are computed from a plane and a grid, which must therefore be somewhere."""
        if self.kind in (ENU, UTM) and not self.frame.on_earth:
            raise ValueError(f"{self.kind} {str(self.zone)[:20]} {str(self.origin)[:60]} is nowhere on Earth")
        return self

    @property
    def frame(self) -> CoordinateFrame:
        """The same as a value."""
        return CoordinateFrame(self.kind, self.zone, self.origin)


class OriginNotes(Document):
    """Which perception made percepts."""

    settings: dict[str, JsonValue] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


class RecordingNotes(Document):
    """Of percepts."""

    sequence: str | None = None
    frame: FrameNotes = FrameNotes()
    perception: OriginNotes = OriginNotes()
    precision: str = "float32"
    whole: str = ""


class UpkeepNotes(Document):
    """One step by which a map came from earlier ones."""

    action: str
    parents: tuple[str, ...]
    """Their digests; the first one's grid and projections are its own."""
    told: str = ""
    """What was done, in words."""


class MapNotes(Document):
    """Of a map."""

    digest: str
    places: dict[str, JsonValue]
    frame: FrameNotes
    perception: OriginNotes = OriginNotes()
    made_from: dict[str, RecordingMarks]
    upkeep: tuple[UpkeepNotes, ...] = ()


class KeypointNotes(Document):
    """Of keypoints: the map that they belong to, if they are of one."""

    map: str = ""


class ResultNotes(Document):
    """Of what a run keeps of its frames: beliefs, candidates."""

    map: str


class StateNotes(ResultNotes):
    """Of a state."""

    method: str
