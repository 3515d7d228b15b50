"""What is on the wire, against the examples of rmw_zenoh's design document and zenoh's own serialiser."""

import pytest
import zenoh.ext
from hypothesis import given, settings
from hypothesis import strategies as st

from tmapr.live.definitions import load_types
from tmapr.live.ros2.wire import (
    Attachment,
    NodeTokens,
    match_publishers,
    match_topic,
    name_key,
    read_key,
    read_publisher,
    read_type,
    spell_type,
)

STRING = "std_msgs/msg/String"
DIGEST = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
CHATTER = f"0/chatter/std_msgs::msg::dds_::String_/{DIGEST}"
LISTENER = "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener"
SUBSCRIPTION = (
    "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MS/%/%/listener/%chatter/std_msgs::msg::dds_::String_/"
    f"{DIGEST}/::,10:,:,:,,"
)
TALKER = (
    "@ros2_lv/0/8b20917502ee955ac4476e0266340d5c/0/10/MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/"
    f"{DIGEST}/::,7:,:,:,,"
)
LISTENING = NodeTokens(0, "aac3178e146ba6f1fc6e6a4085e77f21", "/", "listener")


@pytest.mark.parametrize("release", ["ROS2_JAZZY", "ROS2_KILTED", "ROS2_LYRICAL"])
def test_a_topic_has_the_key_of_the_design_document(release):
    assert name_key(0, "/chatter", STRING, load_types(release).hash_rihs01(STRING)) == CHATTER


def test_a_topic_below_others_keeps_its_slashes():
    assert name_key(7, "/robot1/chatter", STRING, DIGEST) == CHATTER.replace("0/", "7/robot1/", 1)


def test_the_type_is_read_back_from_a_key():
    assert read_key(CHATTER) == STRING


def test_tokens_are_those_of_the_design_document():
    assert LISTENING.node == LISTENER
    assert LISTENING.subscription(10, "/chatter", STRING, DIGEST) == SUBSCRIPTION


def test_a_publisher_says_that_it_keeps_all():
    talking = NodeTokens(0, "8b20917502ee955ac4476e0266340d5c", "/", "talker")
    assert talking.publisher(10, "/chatter", STRING, DIGEST) == TALKER.replace("::,7:", "::2,:")


def test_a_namespace_is_one_part_of_a_token():
    token = NodeTokens(3, "ab", "/fleet/robot1", "tmapr").node
    assert token == "@ros2_lv/3/ab/0/0/NN/%/%fleet%robot1/tmapr"


def test_who_publishes_is_read_from_a_token():
    assert read_publisher(TALKER) == (STRING, DIGEST)
    assert read_publisher(f"{TALKER}/backends:cpu:") == (STRING, DIGEST)
    assert read_publisher(LISTENER) is None


def test_zenoh_itself_finds_what_is_matched():
    for pattern, key, other in (
        (match_topic(0, "/chatter"), CHATTER, CHATTER.replace("0/", "0/robot1/", 1)),
        (match_publishers(0, "/chatter"), TALKER, SUBSCRIPTION),
        (match_publishers(0, "/chatter"), f"{TALKER}/backends:cpu:", TALKER.replace("%chatter", "%robot1%chatter")),
    ):
        assert zenoh.KeyExpr(pattern).includes(zenoh.KeyExpr(key))
        assert not zenoh.KeyExpr(pattern).intersects(zenoh.KeyExpr(other))


@pytest.mark.parametrize("kind", ["sensor_msgs/msg/Image", "tf2_msgs/msg/TFMessage", "a_b/msg/C_d"])
def test_a_type_is_spelt_and_read(kind):
    assert read_type(spell_type(kind)) == kind


integers = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None, derandomize=True)
@given(integers, integers, st.binary(min_size=16, max_size=16))
def test_an_attachment_is_what_zenoh_serialises(sequence, sent, publisher):
    parts = zenoh.ext.Int64(sequence), zenoh.ext.Int64(sent), publisher
    expected = b"".join(zenoh.ext.z_serialize(part).to_bytes() for part in parts)
    attachment = Attachment(sequence, sent, publisher)
    assert attachment.pack() == expected
    assert Attachment.unpack(expected) == attachment


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=64))
def test_no_other_attachment_is_refused_with_more_than_none(raw):
    found = Attachment.unpack(raw)
    assert found is None or found.pack() == raw
