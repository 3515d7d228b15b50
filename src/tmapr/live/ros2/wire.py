"""What rmw_zenoh puts on the wire: the keys of topics, liveliness tokens and attachments.

As its design document has it for Humble from 0.1.2, Jazzy from 0.2.4, Kilted and later: before, attachments had names
in them. A topic `/thermal/image_raw` of type sensor_msgs/msg/Image in domain 0 is published under the key

    0/thermal/image_raw/sensor_msgs::msg::dds_::Image_/RIHS01_<digest of the type's definition>

and who publishes it keeps a token alive, so that others see a node and its topics in the graph:

    @ros2_lv/0/<session>/<node>/<entity>/MP/<enclave>/<namespace>/<name>/%thermal%image_raw/<type>/<digest>/<QoS>
"""

import struct
from dataclasses import dataclass
from typing import NamedTuple

HUMBLE_DIGEST = "TypeHashNotSupported"
"""Humble has no digests of types."""
VOLATILE = "::,10:,:,:,,"
"""QoS: reliable, for those who are there, the last 10; rmw_zenoh leaves out what is its default."""
UNHURRIED = "::2,:,:,:,,"
"""QoS: as above, but all are kept; a publisher that says so waits where the network is slow, and loses nothing."""

_ATTACHMENT = struct.Struct("<qqB16s")
_GID = 16


def spell_type(kind: str) -> str:
    """sensor_msgs/msg/Image as sensor_msgs::msg::dds_::Image_."""
    *package, name = kind.split("/")
    return "::".join([*package, "dds_", f"{name}_"])


def read_type(spelt: str) -> str:
    """The way back; what is spelt in another way stays as it is, since a refusal will show it."""
    return spelt.replace("::dds_::", "::").removesuffix("_").replace("::", "/")


def name_key(domain: int, topic: str, kind: str, digest: str) -> str:
    """The key that messages of a topic are published under."""
    return f"{domain}/{topic.removeprefix('/')}/{spell_type(kind)}/{digest}"


def match_topic(domain: int, topic: str) -> str:
    """The keys of a topic, whatever type and digest its publisher gives it."""
    return f"{domain}/{topic.removeprefix('/')}/*/*"


def read_key(key: str) -> str:
    """The type in the key of a topic."""
    return read_type(key.split("/")[-2])


def match_publishers(domain: int, topic: str) -> str:
    """The tokens of a topic's publishers; later releases write more behind them."""
    return f"@ros2_lv/{domain}/*/*/*/MP/*/*/*/{_mangle(topic)}/**"


def read_publisher(token: str) -> tuple[str, str] | None:
    """The type and its digest in the token of a publisher; None where it has none."""
    parts = token.split("/")
    return (read_type(parts[10]), parts[11]) if len(parts) > 12 else None


@dataclass(frozen=True, slots=True)
class NodeTokens:
    """The tokens that a node keeps alive. Its entities are numbered, itself as 0."""

    domain: int
    session: str
    """The zenoh session's id, as zenoh prints it."""
    namespace: str
    name: str

    @property
    def node(self) -> str:
        """Of the node itself."""
        return self._make(0, "NN")

    def publisher(self, number: int, topic: str, kind: str, digest: str) -> str:
        """Of one of its publishers: it waits rather than losing messages, and says so."""
        return f"{self._make(number, 'MP')}/{_mangle(topic)}/{spell_type(kind)}/{digest}/{UNHURRIED}"

    def subscription(self, number: int, topic: str, kind: str, digest: str) -> str:
        """Of one of its subscriptions."""
        return f"{self._make(number, 'MS')}/{_mangle(topic)}/{spell_type(kind)}/{digest}/{VOLATILE}"

    def _make(self, number: int, entity: str) -> str:
        enclave = "%"  # none: security is the router's
        return (
            f"@ros2_lv/{self.domain}/{self.session}/0/{number}/{entity}/{enclave}/{_mangle(self.namespace)}/{self.name}"
        )


def _mangle(name: str) -> str:
    return name.replace("/", "%")


class Attachment(NamedTuple):
    """What comes beside a message: its number among those of its publisher, when it was sent, and who that is."""

    sequence: int
    sent: int
    publisher: bytes

    def pack(self) -> bytes:
        """33 bytes, as zenoh serialises two integers and 16 bytes with their length before them."""
        return _ATTACHMENT.pack(self.sequence, self.sent, _GID, self.publisher)

    @classmethod
    def unpack(cls, raw: bytes) -> "Attachment | None":
        """None for what is written in another way, as by releases before these."""
        if len(raw) != _ATTACHMENT.size:
            return None
        sequence, sent, length, publisher = _ATTACHMENT.unpack(raw)
        return cls(sequence, sent, publisher) if length == _GID else None
