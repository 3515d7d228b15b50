"""A node of ROS 2's graph by zenoh alone: one session with the robot's router.

As a client: rmw_zenohd does not pass on what one peer says to another that it is not connected to.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from tmapr.exceptions import InputError
from tmapr.live.definitions import load_types, to_rosbags
from tmapr.live.messages import Message, name_topic
from tmapr.live.ros2.wire import (
    HUMBLE_DIGEST,
    Attachment,
    NodeTokens,
    match_publishers,
    match_topic,
    name_key,
    read_key,
    read_publisher,
)
from tmapr.live.topics.carrier import Carried, check_topic

DISTROS = ("humble", "jazzy", "kilted", "lyrical")
_LAST_DOMAIN = 232
"""The last that every middleware of ROS 2 takes."""
_PUBLISHERS = 64
"""Of one topic, whose messages are counted: there is one, or one after another."""


class Ros2Node:
    """Subscribes to a topic whatever its type is, and says in the graph that it does once somebody publishes it."""

    def __init__(
        self,
        *,
        endpoint: str = "tcp/localhost:7447",
        domain: int = 0,
        distro: str = "jazzy",
        namespace: str = "/",
        name: str = "tmapr",
    ) -> None:
        """`distro` is for what is published; what is heard says of itself what it is."""
        if distro not in DISTROS:
            raise InputError(f"{distro!r} is no release of ROS 2 with rmw_zenoh; those are {', '.join(DISTROS)}")
        if not 0 <= domain <= _LAST_DOMAIN:
            raise InputError(f"ROS domain {domain}: give a number from 0 to {_LAST_DOMAIN}")
        above = "" if namespace in ("", "/") else check_topic(namespace)
        self.name = check_topic(f"{above}/{name}")
        self._types = load_types(f"ROS2_{distro.upper()}")
        self._digests = distro != "humble"
        self._domain = domain
        self._session = _connect(endpoint)
        self._tokens = NodeTokens(domain, str(self._session.info.zid()), above or "/", name)
        self._numbers = count(1)
        self._publishers: dict[str, _Publisher] = {}
        self._alive: list[Any] = []
        """What zenoh would let go of as soon as nobody holds it."""
        self._keep_alive(self._tokens.node)

    def subscribe(self, topic: str, take: Callable[[Carried], None]) -> None:
        """Of whatever type; messages that are missing are counted for each publisher."""
        counted = _Counted()

        def receive(sample: Any) -> None:
            received, arrived = time.time_ns(), time.monotonic_ns()
            beside = None if sample.attachment is None else Attachment.unpack(sample.attachment.to_bytes())
            missed = 0 if beside is None else counted.count(beside)
            raw = sample.payload.to_bytes()
            take(Carried(topic, read_key(str(sample.key_expr)), raw, received, arrived, missed))

        known: set[tuple[str, str]] = set()

        def tell(token: Any) -> None:
            declared = read_publisher(str(token.key_expr))
            if declared is not None and declared not in known:
                known.add(declared)
                self._keep_alive(self._tokens.subscription(next(self._numbers), topic, *declared))

        self._alive.append(self._session.declare_subscriber(match_topic(self._domain, topic), receive))
        publishers = match_publishers(self._domain, topic)
        self._alive.append(self._session.liveliness().declare_subscriber(publishers, tell, history=True))

    def _keep_alive(self, token: str) -> None:
        """As long as the session is; a publisher that comes while it is being closed need not know."""
        import zenoh

        try:
            self._alive.append(self._session.liveliness().declare_token(token))
        except zenoh.ZError:
            if not self._session.is_closed():
                raise

    def when_sent_away(self, end: Callable[[], None]) -> None:
        """Never: a router that goes may come again."""

    def decode(self, kind: str, raw: bytes) -> Any:
        """CDR with its four bytes before it."""
        return self._types.deserialize_cdr(memoryview(raw), kind)

    def announce(self, topic: str, kind: str) -> None:
        """What is published waits where the network is slow: whoever publishes has a thread for that."""
        import zenoh

        full = name_topic(topic, self.name)
        digest = self._types.hash_rihs01(kind) if self._digests else HUMBLE_DIGEST
        publisher = self._session.declare_publisher(
            name_key(self._domain, full, kind, digest),
            congestion_control=zenoh.CongestionControl.BLOCK,
            reliability=zenoh.Reliability.RELIABLE,
        )
        self._publishers[topic] = _Publisher(publisher, os.urandom(16), count(1))
        self._keep_alive(self._tokens.publisher(next(self._numbers), full, kind, digest))

    def publish(self, message: Message) -> None:
        """One message, numbered."""
        raw = self._types.serialize_cdr(to_rosbags(message, self._types), message.type)
        self._publishers[message.topic].put(bytes(raw))

    def close(self) -> None:
        """Tokens go with the session: others see the node leave."""
        if not self._session.is_closed():
            self._session.close()


@dataclass(frozen=True, slots=True)
class _Publisher:
    declared: Any
    gid: bytes
    """rmw_zenoh takes a digest of the token; any that is nobody else's tells publishers apart."""
    numbers: "count[int]"

    def put(self, raw: bytes) -> None:
        beside = Attachment(next(self.numbers), time.time_ns(), self.gid)
        self.declared.put(raw, attachment=beside.pack())


class _Counted:
    """How many messages of each publisher are missing between those that came."""

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}

    def count(self, beside: Attachment) -> int:
        last = self._last.pop(beside.publisher, None)
        if len(self._last) >= _PUBLISHERS:
            del self._last[next(iter(self._last))]
        self._last[beside.publisher] = beside.sequence
        # A publisher that starts anew counts from the beginning.
        return 0 if last is None else max(beside.sequence - last - 1, 0)


def _connect(endpoint: str) -> Any:
    """A session with a router; zenoh itself connects again where the router was away for a while."""
    try:
        import zenoh
    except ImportError as error:
        raise InputError(f"ROS 2 topics need eclipse-zenoh ({error}); pip install 'tmapr[ros2]'") from None
    config = zenoh.Config()
    try:
        config.insert_json5("mode", '"client"')
        config.insert_json5("scouting/multicast/enabled", "false")
        config.insert_json5("connect/endpoints", json.dumps([endpoint]))
        return zenoh.open(config)
    except zenoh.ZError as error:
        reason = str(error).split(" at /")[0].strip()
        raise InputError(
            f"{endpoint}: no zenoh router answers there ({reason}); start one with `ros2 run rmw_zenoh_cpp rmw_zenohd`,"
            " or name another, as in tcp/192.168.1.5:7447"
        ) from None
