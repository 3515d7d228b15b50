"""Frames from a robot's topics."""

import time
from collections.abc import Callable, Iterator

from tmapr.exceptions import InputError
from tmapr.live.events import Arrival, Event, Part
from tmapr.live.topics.carrier import Carried, Carrier
from tmapr.live.topics.inbox import Inbox
from tmapr.live.topics.listener import Listener, Subscribed


class TopicSource:
    """Subscribes when it is iterated. A message that cannot be read costs itself alone: it is counted and noted."""

    waits = False

    def __init__(
        self,
        carrier: Carrier,
        subscribed: Subscribed,
        *,
        name: str = "",
        map_frame: str = "map",
        let_go: Callable[[], None] | None = None,
    ) -> None:
        """`let_go` is called once, instead of closing a carrier that others use too."""
        self.name = name or subscribed.image
        self.refused = 0
        """Messages that came and could not be read."""
        self.note = ""
        """Why the last of them could not."""
        self._carrier = carrier
        self._listener = Listener(subscribed, carrier.decode, map_frame)
        self._image_topic = self._listener.topics[0]
        self._inbox = Inbox(self._image_topic)
        self._let_go: Callable[[], None] | None = let_go or carrier.close
        self._frames, self._last = 0, time.monotonic()

    @property
    def dropped(self) -> int:
        """Images that came and that nobody took in time."""
        return self._inbox.dropped

    def __iter__(self) -> Iterator[Event]:
        self._carrier.when_sent_away(self._inbox.close)
        for topic in self._listener.topics:
            self._carrier.subscribe(topic, self._inbox.put)
        while carried := self._inbox.take():
            event = self._hear(carried)
            if isinstance(event, Arrival):
                self._frames, self._last = self._frames + 1, time.monotonic()
            if event is not None:
                yield event

    def read(self) -> Part:
        """How the topic is doing: what could not be read is in its note."""
        note = f"{self.refused} messages not read, the last: {self.note}" if self.refused else ""
        idle = time.monotonic() - self._last
        return Part(f"topic {self._image_topic}", self._frames, self.dropped, idle=idle, note=note)

    def _hear(self, carried: Carried) -> Event | None:
        try:
            return self._listener.hear(carried)
        except InputError as error:
            self.refused += 1
            self.note = str(error)
            return None

    def close(self) -> None:
        """Ends the iteration and leaves the robot's graph."""
        self._inbox.close()
        let_go, self._let_go = self._let_go, None
        if let_go:
            let_go()
