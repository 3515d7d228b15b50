"""What came and was not looked at yet: bounded, so that a robot that talks faster than we listen costs no memory."""

from collections import deque
from threading import Condition

from tmapr.live.topics.carrier import Carried

IMAGES = 4
"""An older one would be answered too late; whoever listens takes them out at once."""
READINGS = 4096
"""Four seconds of a fast IMU."""


class Inbox:
    """Messages in the order in which they came. Where an image has no room the oldest one goes, and is counted."""

    def __init__(self, image_topic: str) -> None:
        self.dropped = 0
        """Images that nobody had time for."""
        self._image_topic = image_topic
        self._images = 0
        self._waiting: deque[Carried] = deque()
        self._changed = Condition()
        self._closed = False

    def put(self, carried: Carried) -> None:
        """Never waits for whoever listens."""
        with self._changed:
            if self._closed:
                return
            self._waiting.append(carried)
            self._images += carried.topic == self._image_topic
            self._make_room()
            self._changed.notify()

    def _make_room(self) -> None:
        readings = len(self._waiting) - self._images
        if self._images <= IMAGES and readings <= READINGS:
            return
        image = self._images > IMAGES
        oldest = next(row for row, each in enumerate(self._waiting) if (each.topic == self._image_topic) is image)
        del self._waiting[oldest]
        self._images -= image
        self.dropped += image

    def take(self) -> Carried | None:
        """The oldest, as soon as there is one; None once it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return None
            carried = self._waiting.popleft()
            self._images -= carried.topic == self._image_topic
            return carried

    def close(self) -> None:
        """Whoever waits is sent away."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
