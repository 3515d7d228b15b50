"""A recording from its beginning to its end: opened on a way, drawn into, and closed within bounded time."""

from datetime import timedelta

import rerun as rr

from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.live.viewer.blueprint import APPLICATION
from tmapr.live.viewer.drawing import Drawing, Drive
from tmapr.live.viewer.pictures import ReferencePictures
from tmapr.live.viewer.ways import Way
from tmapr.retrieval.memory import Memory

_PATIENCE = 5.0
"""Seconds to wait for viewers at the end, and for a disk."""

_ROWS = 512
"""What is drawn before a piece is sent, in any case: of a recording that is read back hundreds come each second."""


class ViewerRecording:
    """Owns the stream; `drawing` takes moments."""

    def __init__(self, way: Way, experiment: Experiment, memory: Memory, drive: Drive) -> None:
        self._way = way
        pieces = rr.ChunkBatcherConfig(flush_tick=timedelta(seconds=way.pace), flush_num_rows=_ROWS)
        self._stream = rr.RecordingStream(APPLICATION, batcher_config=pieces)
        # When something was drawn is of no interest, and would make every recording another one.
        self._stream.set_log_time_enabled(False)
        self._stream.set_log_tick_enabled(False)
        way.open(self._stream)
        self._pictures = ReferencePictures(experiment, memory)
        self.drawing = Drawing(self._stream, memory, self._pictures, drive)

    def wait_for_pictures(self) -> None:
        """Until those of all references are at hand; a drive that goes on has no time for that."""
        self._pictures.wait()

    def flush(self) -> None:
        """Wait until all has arrived, but not forever; what is to be complete and is not is refused."""
        try:
            self._stream.flush(timeout_sec=_PATIENCE)
        except RuntimeError as error:
            if self._way.complete:
                raise InputError(f"the recording for the viewer is not whole ({error})") from None

    def close(self) -> None:
        """The end of the recording; viewers keep what they have got."""
        try:
            self.flush()
        finally:
            self._stream.disconnect()
            self._pictures.close()
