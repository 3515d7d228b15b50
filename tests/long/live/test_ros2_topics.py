"""ROS 2 by zenoh: a real router, and nodes that are processes of their own and share no code with ours."""

import base64
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import tmapr
from answered import HEALTH
from ros_processes import HERE, Heard, find_port, run, run_router, wait_until
from tmapr.exceptions import InputError
from tmapr.live.definitions import load_types
from tmapr.live.events import Scene, Start
from tmapr.live.messages import TOPICS, Frames, name_topic
from tmapr.live.ros2 import Ros2Node
from tmapr.live.speaker import Speaker
from tmapr.live.topics import Subscribed, TopicSink, TopicSource, share

IMAGE = {"topic": "/thermal/image_raw", "kind": "image"}
STAMP = [1_700_000_000, 123_456_789]
NANOSECONDS = 1_700_000_000_123_456_789


@pytest.fixture
def endpoint():
    """Of a router that nobody else uses: whom a test left behind is in no other's graph."""
    port = find_port()
    with run_router(port):
        yield f"tcp/127.0.0.1:{port}"


@pytest.fixture
def mode():
    """How the others connect: nodes of ROS are peers of one another, and of the router."""
    return "peer"


def talk(endpoint, mode="peer"):
    return run(sys.executable, HERE / "ros_zenoh_talker.py", endpoint, mode)


@pytest.fixture
def talker(endpoint, mode):
    with talk(endpoint, mode) as talker:
        yield talker


@pytest.fixture
def hearer(endpoint, mode, tmp_path):
    with run(sys.executable, HERE / "ros_zenoh_hearer.py", endpoint, write_definitions(tmp_path), mode) as hearer:
        hearer.hear_until(lambda told: {"up": True} in told)
        yield hearer


def find(told, topic):
    """The messages of a topic."""
    return [each for each in told if each.get("topic") == topic]


def find_tokens(told, entity):
    """The parts of the tokens of our node."""
    parts = [each["token"].split("/") for each in told if each.get("alive")]
    return [each for each in parts if each[5] == entity and each[8] == "tmapr"]


def write_definitions(folder: Path) -> Path:
    types = load_types("ROS2_JAZZY")
    texts = {kind: types.generate_msgdef(kind, ros_version=2)[0] for kind in TOPICS.values()}
    file = folder / "definitions.json"
    file.write_text(json.dumps(texts))
    return file


@pytest.fixture
def listen(endpoint):
    """Listens to topics until the test is over."""
    begun = []

    def listen(**topics):
        node = Ros2Node(endpoint=endpoint)
        begun.append(Heard(TopicSource(node, Subscribed(IMAGE["topic"], **topics))))
        return begun[-1]

    yield listen
    for heard in begun:
        heard.close()


def make_counts(seed, shape):
    return np.random.default_rng(seed).integers(0, 2**16, shape, dtype=np.uint16)


@pytest.mark.parametrize("mode", ["peer", "client"])
def test_images_and_their_stamps_come_bit_for_bit(listen, talker, mode):
    heard = listen()
    shape = [512, 640]
    for seed in range(20):
        talker.tell(**IMAGE, stamp=[STAMP[0] + seed, STAMP[1] + seed], shape=shape, seed=seed)
        arrivals = heard.wait_for(seed + 1)
    assert [arrival.frame.stamp for arrival in arrivals] == [NANOSECONDS + seed * 1_000_000_001 for seed in range(20)]
    assert [arrival.frame.index for arrival in arrivals] == list(range(20))
    for seed, arrival in enumerate(arrivals):
        assert arrival.arrived is not None
        counts = arrival.frame.image()
        assert counts.dtype == np.uint16
        np.testing.assert_array_equal(counts, make_counts(seed, shape))
    assert (heard.source.lost, heard.source.dropped, heard.source.refused) == (0, 0, 0)


def test_what_was_lost_on_the_way_is_counted(listen, talker):
    heard = listen()
    for skip in (0, 3, 0, 2):
        talker.tell(**IMAGE, stamp=STAMP, shape=[4, 6], seed=0, skip=skip)
    heard.wait_for(4)
    assert heard.source.lost == 5
    assert heard.source.read().note == "5 images lost on the way"


def test_a_burst_of_images_is_taken_or_counted(listen, talker):
    heard = listen()
    for seed in range(50):
        talker.tell(**IMAGE, stamp=STAMP, shape=[512, 640], seed=seed)
    source = heard.source
    wait_until(lambda: len(heard.events) + source.dropped + source.lost == 50, "50 images taken, dropped or lost")
    assert source.lost == 0  # a publisher that waits loses none
    np.testing.assert_array_equal(heard.events[-1].frame.image(), make_counts(49, [512, 640]))


def test_another_publisher_loses_nothing(listen, talker, endpoint):
    heard = listen()
    talker.tell(**IMAGE, stamp=STAMP, shape=[4, 6], seed=0, skip=40)
    with talk(endpoint) as other:
        other.tell(**IMAGE, stamp=STAMP, shape=[4, 6], seed=0)
        heard.wait_for(2)
    talker.tell(**IMAGE, stamp=STAMP, shape=[4, 6], seed=0)
    heard.wait_for(3)
    assert heard.source.lost == 0


def test_an_initial_pose_begins_anew(listen, talker):
    heard = listen()
    covariance = np.zeros((6, 6))
    covariance[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    given = {"topic": "/initialpose", "kind": "start", "stamp": STAMP, "position": [12.5, -3.25]}
    talker.tell(**given, covariance=np.zeros((6, 6)).tolist(), frame="map")
    talker.tell(**given, covariance=np.zeros((6, 6)).tolist(), frame="odom")
    talker.tell(**{**given, "position": [float("nan"), 0.0]}, covariance=covariance.tolist(), frame="map")
    talker.tell(**given, covariance=covariance.tolist(), frame="map")
    clicked, known = heard.wait_for(2)
    assert isinstance(clicked, Start)
    assert isinstance(known, Start)
    assert known.position.tolist() == [12.5, -3.25]
    assert known.deviation == pytest.approx(np.sqrt(3))
    assert clicked.deviation == 0.5
    assert heard.source.refused == 2


def test_frames_come_again_after_the_router_was_away():
    port = find_port()
    endpoint = f"tcp/127.0.0.1:{port}"
    with run_router(port):
        heard = Heard(TopicSource(Ros2Node(endpoint=endpoint), Subscribed(IMAGE["topic"])))
        with talk(endpoint) as talker:
            talker.tell(**IMAGE, stamp=STAMP, shape=[4, 6], seed=0)
            heard.wait_for(1)
    with run_router(port), talk(endpoint) as talker:
        talker.tell(**IMAGE, stamp=STAMP, shape=[4, 6], seed=1)
        again = heard.wait_for(2)[1]
        np.testing.assert_array_equal(again.frame.image(), make_counts(1, [4, 6]))
        heard.close()


@pytest.mark.parametrize("mode", ["peer", "client"])
def test_answers_are_heard_with_the_stamps_of_their_frames(endpoint, hearer, scene, answers, mode):
    frames = Frames()
    sink = TopicSink(Ros2Node(endpoint=endpoint), frames)
    sink.begin(scene)
    given = answers[:12]
    for answer in given:
        sink.take(answer)
    sink.report(HEALTH)
    told = hearer.hear_until(lambda told: find(told, "/diagnostics") and len(find(told, "/tmapr/odometry")) == 12)
    heard = [each for each in told if "topic" in each]
    speaker = Speaker(frames)
    expected = [message for answer in given for message in speaker.speak(answer)]
    assert [(told["topic"], told["kind"]) for told in heard[:-1]] == [
        (name_topic(message.topic, "tmapr"), message.type) for message in expected
    ]
    for told, message in zip(heard[:-1], expected, strict=True):
        assert straighten(told["message"]) == fill_up(message.value)
    poses = [told["message"] for told in heard if told["topic"] == "/tmapr/odometry"]
    stamps = [pose["header"]["stamp"] for pose in poses]
    assert [each["sec"] * 10**9 + each["nanosec"] for each in stamps] == [answer.frame.stamp for answer in given]
    assert {"/tmapr/fix", "/tmapr/odometry", "/tf", "/diagnostics"} <= {told["topic"] for told in heard}
    sink.close()


def test_tmapr_live_answers_a_night_over_ros_2_as_offline_bit_for_bit(
    endpoint, talker, hearer, scene, answers, tmp_path
):
    given, topics = answers[:12], ("/tmapr/fix", "/tmapr/odometry", "/tmapr/gps", "/tf")
    arguments = ["--source", f"ros2:{IMAGE['topic']}", "--router", endpoint, "--run", tmp_path, "--frames", len(given)]
    source = str(Path(tmapr.__file__).parents[1])
    program = [sys.executable, "-c", "from tmapr.cli.main import run; run()", "live", scene.map_folder, *arguments]
    speaker, told = Speaker(), []
    expected = [message for answer in given for message in speaker.speak(answer)]
    with run(*program, PYTHONPATH=source + os.pathsep + os.environ.get("PYTHONPATH", "")) as ours:
        for number, answer in enumerate(given, 1):
            counts = answer.frame.image()
            pixels = {"encoding": "mono8", "shape": counts.shape, "data": base64.b64encode(counts.tobytes()).decode()}
            talker.tell(**IMAGE, stamp=divmod(answer.frame.stamp, 10**9), **pixels)
            told = hearer.hear_until(lambda told, number=number: len(find(told, "/tmapr/odometry")) == number, told)
        told = hearer.hear_until(lambda told: sum(each.get("topic") in topics for each in told) == len(expected), told)
        assert ours.finish() == 0
    for topic in topics:
        said = [fill_up(message.value) for message in expected if name_topic(message.topic, "tmapr") == topic]
        assert said
        assert [straighten(each["message"]) for each in find(told, topic)] == said


def straighten(value):
    """Stamps as one integer, as our messages have them."""
    if isinstance(value, dict):
        if set(value) == {"sec", "nanosec"}:
            return value["sec"] * 10**9 + value["nanosec"]
        return {name: straighten(each) for name, each in value.items()}
    return [straighten(each) for each in value] if isinstance(value, list) else value


def fill_up(value):
    return json.loads(json.dumps(value))


def test_what_was_said_last_is_heard(endpoint, hearer, scene):
    sink = TopicSink(Ros2Node(endpoint=endpoint))
    sink.begin(scene)
    for _ in range(200):
        sink.report(HEALTH)
    sink.close()
    told = hearer.hear_until(lambda told: any(each.get("sequence") == 200 for each in told))
    assert [each["sequence"] for each in find(told, "/diagnostics")] == list(range(1, 201))
    assert len({each["gid"] for each in find(told, "/diagnostics")}) == 1


@pytest.mark.parametrize(("distro", "digest"), [("humble", "TypeHashNotSupported"), ("kilted", None)])
def test_topics_are_announced_for_the_release_of_the_robot(endpoint, hearer, scene, distro, digest):
    node = Ros2Node(endpoint=endpoint, distro=distro, namespace="/robot1")
    sink = TopicSink(node)
    sink.begin(scene)
    sink.report(HEALTH)
    told = hearer.hear_until(
        lambda told: (
            find(told, "/diagnostics") and len(find_tokens(told, "MP")) == len(TOPICS) and find_tokens(told, "NN")
        )
    )
    types = load_types("ROS2_KILTED")
    ours = [*find_tokens(told, "NN"), *find_tokens(told, "MP")]
    assert {(parts[2], parts[6], parts[7]) for parts in ours} == {(ours[0][2], "%", "%robot1")}
    assert len({parts[4] for parts in ours}) == len(ours) == 1 + len(TOPICS)
    published = {parts[9].replace("%", "/"): (parts[10], parts[11]) for parts in find_tokens(told, "MP")}
    for topic, kind in TOPICS.items():
        package, _, name = kind.split("/")
        expected = f"{package}::msg::dds_::{name}_", digest or types.hash_rihs01(kind)
        assert published[name_topic(topic, "/robot1/tmapr")] == expected
    assert find(told, "/diagnostics")[0]["digest"] == published["/diagnostics"][1]
    sink.close()


def test_the_last_who_leaves_takes_the_node_with_him(endpoint, hearer, scene):
    source, sink = share(Ros2Node(endpoint=endpoint), Subscribed(IMAGE["topic"]))
    sink.begin(scene)
    heard = Heard(source)
    heard.close()
    heard.source.close()
    sink.report(HEALTH)
    told = hearer.hear_until(lambda told: find(told, "/diagnostics") and find_tokens(told, "NN"))
    token = "/".join(find_tokens(told, "NN")[0])
    sink.close()
    hearer.hear_until(lambda told: {"token": token, "alive": False} in told, told)


def test_only_who_listens_says_so(endpoint, hearer, talker, listen):
    heard = listen()
    talker.tell(**IMAGE, stamp=STAMP, shape=[4, 6], seed=0, digest="TypeHashNotSupported")
    heard.wait_for(1)
    told = hearer.hear_until(lambda told: find_tokens(told, "MS"))
    image = "%thermal%image_raw", "sensor_msgs::msg::dds_::Image_", "TypeHashNotSupported", "::,10:,:,:,,"
    assert tuple(find_tokens(told, "MS")[0][9:]) == image


def test_a_map_without_degrees_announces_none(endpoint, hearer, tmp_path):
    stamps = 1_700_000_000 * 10**9 + np.arange(60) * 10**8
    positions = np.stack([np.arange(60.0), np.zeros(60)], axis=1)
    descriptors = np.random.default_rng(0).normal(size=(60, 16))
    localizer = tmapr.make_map(
        tmapr.Recording.from_arrays("noon", stamps, descriptors, truth=positions), tmp_path / "map"
    )
    sink = TopicSink(Ros2Node(endpoint=endpoint), Frames(tf="none"))
    sink.begin(Scene(localizer, tmp_path / "map", tmp_path / "run", "noon"))
    sink.report(HEALTH)
    told = hearer.hear_until(lambda told: find(told, "/diagnostics") and len(find_tokens(told, "MP")) == 3)
    topics = {parts[9] for parts in find_tokens(told, "MP")}
    assert topics == {"%tmapr%fix", "%tmapr%odometry", "%diagnostics"}
    sink.close()


def test_without_a_router_one_line_says_so():
    with pytest.raises(InputError, match=r"tcp/127.0.0.1:\d+: no zenoh router answers there .*rmw_zenohd"):
        Ros2Node(endpoint=f"tcp/127.0.0.1:{find_port()}")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"endpoint": "nonsense"}, "nonsense: no zenoh router"),
        ({"distro": "foxy"}, "'foxy' is no release of ROS 2 with rmw_zenoh; those are humble, jazzy"),
        ({"domain": 500}, "ROS domain 500: give a number from 0 to 232"),
        ({"namespace": "/a b"}, "is no name of a topic"),
    ],
)
def test_what_cannot_be_is_refused(given, reason):
    with pytest.raises(InputError, match=reason):
        Ros2Node(**given)
