"""Answers on a robot's topics."""

import time
from collections.abc import Callable

from tmapr.live.events import Answer, Health, Scene
from tmapr.live.messages import GPS, TF, TOPICS, Frames
from tmapr.live.speaker import Speaker
from tmapr.live.topics.carrier import Carrier


class TopicSink:
    """Publishes what a `Speaker` says."""

    complete = False

    def __init__(
        self,
        carrier: Carrier,
        frames: Frames | None = None,
        *,
        name: str = "ros",
        let_go: Callable[[], None] | None = None,
    ) -> None:
        """`let_go` is called once, instead of closing a carrier that others use too."""
        self.name = name
        self._carrier = carrier
        self._frames = frames or Frames()
        self._speaker = Speaker(self._frames)
        self._let_go: Callable[[], None] | None = let_go or carrier.close

    def begin(self, scene: Scene) -> None:
        """Subscribers take a moment to find a topic: those that this drive can have are announced before it begins."""
        silent = set()
        if not scene.localizer.frame.on_earth:
            silent.add(GPS)
        if self._frames.tf == "none":
            silent.add(TF)
        for topic, kind in TOPICS.items():
            if topic not in silent:
                self._carrier.announce(topic, kind)

    def take(self, answer: Answer) -> None:
        """Every header has the camera's stamp."""
        for message in self._speaker.speak(answer):
            self._carrier.publish(message)

    def report(self, health: Health) -> None:
        """For the robot's monitors, by the clock of this computer."""
        self._carrier.publish(self._speaker.diagnose(health, time.time_ns()))

    def close(self) -> None:
        """Leave the robot's graph."""
        let_go, self._let_go = self._let_go, None
        if let_go:
            let_go()
