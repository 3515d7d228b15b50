"""`--view`: the viewer as a sink of a live drive."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tmapr.artifacts.run import RunFolder
from tmapr.experiment import read_experiment
from tmapr.live.events import Answer, Health, Scene
from tmapr.live.viewer.moments import tell_answer
from tmapr.live.viewer.ways import Way, find_way
from tmapr.perception.image import Image
from tmapr.retrieval.memory import Memory

if TYPE_CHECKING:
    from tmapr.live.viewer.recording import ViewerRecording


def open_view(text: str, tell: Callable[[str], None] = lambda _: None) -> "RerunSink":
    """The sink that `--view TEXT` asks for; `tell` is given lines on how to look at it when it has begun."""
    return RerunSink(find_way(text), tell)


class RerunSink:
    """Shows answers in the Rerun viewer."""

    def __init__(self, way: Way, tell: Callable[[str], None] = lambda _: None) -> None:
        self._way, self._tell = way, tell
        self._recording: ViewerRecording | None = None
        self._memory: Memory | None = None
        self._image = Image()

    @property
    def name(self) -> str:
        """As messages name it."""
        return "viewer"

    @property
    def complete(self) -> bool:
        """A file is to have every answer; a viewer may miss some."""
        return self._way.complete

    def begin(self, scene: Scene) -> None:
        """Open the way and draw what does not change."""
        from tmapr.live.viewer.drawing import Drive
        from tmapr.live.viewer.recording import ViewerRecording

        experiment = read_experiment(RunFolder(scene.map_folder).experiment)
        self._memory, self._image = scene.localizer.memory, experiment.perception.image
        self._recording = ViewerRecording(self._way, experiment, self._memory, Drive(scene.source, timed=True))
        for line in self._way.words:
            self._tell(line)

    def take(self, answer: Answer) -> None:
        """One answer."""
        if self._recording is None or self._memory is None:
            raise ValueError("a sink takes answers after it has begun")
        self._recording.drawing.draw(tell_answer(answer, self._memory, self._image))

    def report(self, health: Health) -> None:
        """How the drive is doing."""
        if self._recording is not None:
            self._recording.drawing.report(health)

    def close(self) -> None:
        """The end; a viewer that hangs is not waited for longer than seconds."""
        if self._recording is not None:
            self._recording.close()
