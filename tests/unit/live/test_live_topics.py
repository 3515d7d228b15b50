"""What a robot's topics say, and what becomes of it when it is too much, damaged or absurd."""

import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ros_processes import Heard, wait_until
from tmapr.exceptions import InputError
from tmapr.live.definitions import load_types, to_rosbags
from tmapr.live.events import Arrival, Pose, Start
from tmapr.live.messages import GPS, TF, Frames, Message
from tmapr.live.messages import TOPICS as PUBLISHED
from tmapr.live.topics import Subscribed, TopicSink, TopicSource, share
from tmapr.live.topics.carrier import Carried, check_topic
from tmapr.live.topics.inbox import IMAGES, READINGS, Inbox
from tmapr.live.topics.listener import Listener
from tmapr.types import Odometry

TYPES = load_types("ROS2_JAZZY")
IMAGE, ODOMETRY, IMU = "sensor_msgs/msg/Image", "nav_msgs/msg/Odometry", "sensor_msgs/msg/Imu"
TWIST, START = "geometry_msgs/msg/TwistStamped", "geometry_msgs/msg/PoseWithCovarianceStamped"
SECOND = 10**9


def decode(kind, raw):
    return TYPES.deserialize_cdr(memoryview(raw), kind)


def carry(topic, kind, value):
    raw = bytes(TYPES.serialize_cdr(to_rosbags(Message(topic, kind, value), TYPES), kind))
    return Carried(topic, kind, raw, received=77, arrived=88)


def header(stamp, frame=""):
    return {"stamp": stamp, "frame_id": frame}


def image(stamp, counts=None):
    counts = np.zeros((2, 3), np.uint16) if counts is None else counts
    height, width = counts.shape
    pixels = {"encoding": "mono16", "is_bigendian": 0, "step": 2 * width, "data": list(counts.tobytes())}
    return carry("/image", IMAGE, {"header": header(stamp), "height": height, "width": width, **pixels})


def vector(x=0.0, y=0.0, z=0.0):
    return {"x": x, "y": y, "z": z}


def pose(x, y, z=0.0, w=1.0):
    turn = {"x": 0.0, "y": 0.0, "z": z, "w": w}
    return {"pose": {"position": vector(x, y), "orientation": turn}, "covariance": [0.0] * 36}


def odometry(stamp, x=0.0, speed=0.0, rate=0.0, w=1.0):
    twist = {"twist": {"linear": vector(speed), "angular": vector(z=rate)}, "covariance": [0.0] * 36}
    value = {"header": header(stamp), "child_frame_id": "", "pose": pose(x, 0.0, w=w), "twist": twist}
    return carry("/odom", ODOMETRY, value)


def imu(stamp, rate, unknown=False):
    value = {
        "header": header(stamp),
        "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
        "angular_velocity": vector(z=rate),
        "linear_acceleration": vector(),
        "orientation_covariance": [0.0] * 9,
        "angular_velocity_covariance": [-1.0 if unknown else 0.0] * 9,
        "linear_acceleration_covariance": [0.0] * 9,
    }
    return carry("/imu", IMU, value)


def listen(*carried, **topics):
    """The last event of these."""
    listener = Listener(Subscribed("/image", **{"odometry": "/odom", "imu": "/imu", **topics}), decode)
    return [listener.hear(each) for each in carried][-1]


def test_an_image_is_a_frame_with_its_stamp():
    counts = np.array([[1, 2, 3], [65535, 256, 255]], np.uint16)
    arrival = listen(image(123_456_789_012_345_678, counts))
    assert isinstance(arrival, Arrival)
    assert (arrival.frame.stamp, arrival.arrived) == (123_456_789_012_345_678, 88)
    np.testing.assert_array_equal(arrival.frame.image(), counts)
    assert (arrival.frame.motion, arrival.odometry) == (None, None)


def test_an_image_without_a_stamp_was_taken_when_it_came():
    assert listen(image(0)).frame.stamp == 77


@pytest.mark.parametrize(
    ("at", "speed"),
    [
        (10.0, 4.0),
        (10.2, 6.0),
        (10.1, 5.0),
        (10.29, 6.0),
        (10.31, None),
        (9.91, 4.0),
        (9.8, None),
    ],
)
def test_the_speed_is_read_between_two_readings_and_hardly_beyond(at, speed):
    readings = odometry(10 * SECOND, speed=4.0), odometry(round(10.2 * SECOND), speed=6.0)
    motion = listen(*readings, image(round(at * SECOND)), imu=None).frame.motion
    assert (motion and motion.speed) == (speed if speed is None else pytest.approx(speed))


def test_without_an_imu_the_odometry_turns():
    taken = listen(odometry(SECOND, rate=0.5), image(SECOND), imu=None).frame
    assert taken.motion == Odometry(0.0, 0.5)


def test_with_an_imu_only_that_turns():
    assert listen(odometry(SECOND, rate=0.5), image(SECOND)).frame.motion == Odometry(0.0, None)
    assert listen(odometry(SECOND, rate=0.5), imu(SECOND, -0.25), image(SECOND)).frame.motion == Odometry(0.0, -0.25)


def test_an_imu_without_a_gyroscope_says_nothing():
    assert listen(imu(SECOND, 0.5, unknown=True), image(SECOND)).frame.motion is None


def test_a_twist_has_no_pose():
    twist = carry("/odom", TWIST, {"header": header(SECOND), "twist": {"linear": vector(2.0), "angular": vector()}})
    arrival = listen(twist, image(SECOND), imu=None)
    assert arrival.frame.motion == Odometry(2.0, 0.0)
    assert arrival.odometry is None


def test_the_pose_of_the_odometry_is_that_of_the_stamp():
    arrival = listen(odometry(SECOND, x=1.0), odometry(2 * SECOND, x=3.0), image(3 * SECOND // 2))
    assert arrival.odometry == Pose(2.0, 0.0, 0.0)


def test_a_pose_without_a_direction_is_none():
    assert listen(odometry(SECOND, x=1.0, w=0.0), image(SECOND)).odometry is None


def test_a_clock_that_was_set_back_is_followed():
    readings = [odometry(stamp * SECOND // 10, speed=float(stamp)) for stamp in (90, 91, 92, 50, 51, 52)]
    assert listen(*readings, image(51 * SECOND // 10), imu=None).frame.motion.speed == 51.0
    assert listen(*readings, image(525 * SECOND // 100), imu=None).frame.motion.speed == 52.0


def test_a_reading_may_come_a_little_late():
    readings = [odometry(stamp * SECOND // 10, speed=float(stamp)) for stamp in (50, 52, 51)]
    assert listen(*readings, image(515 * SECOND // 100), imu=None).frame.motion.speed == pytest.approx(51.5)


def test_only_so_many_readings_are_kept():
    listener = Listener(Subscribed("/image", odometry="/odom"), decode)
    for stamp in range(1200):
        listener.hear(odometry(stamp * SECOND // 100, speed=1.0))
    assert listener.hear(image(11 * SECOND)).frame.motion.speed == 1.0
    assert listener.hear(image(1 * SECOND)).frame.motion is None


@pytest.mark.parametrize(
    ("carried", "reason"),
    [
        (odometry(SECOND, speed=1e9), "topic /odom: speed is 1e\\+09; it must be in metres per second, within ±100"),
        (odometry(SECOND, speed=float("nan")), "topic /odom: speed is nan"),
        (odometry(SECOND, x=1e30), "topic /odom: its position is"),
        (imu(SECOND, 1e4), "topic /imu: yaw_rate is 10000"),
        (imu(SECOND, 0.0)._replace(topic="/odom"), "topic /odom: its type is sensor_msgs/msg/Imu; read are nav_msgs"),
        (odometry(SECOND)._replace(topic="/image"), "topic /image: its type is nav_msgs/msg/Odometry; read are sensor"),
        (image(SECOND)._replace(raw=b"\x00\x01\x00\x00short"), "topic /image: a message of 9 bytes cannot be read"),
        (image(SECOND)._replace(topic="/initialpose"), "topic /initialpose: its type is sensor_msgs/msg/Image; read"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(carried, reason):
    with pytest.raises(InputError, match=reason):
        listen(carried)


@pytest.mark.parametrize("frame", ["", "map", "/map"])
def test_a_start_is_in_the_map(frame):
    begun = listen(carry("/initialpose", START, {"header": header(SECOND, frame), "pose": pose(4.0, 5.0)}))
    assert isinstance(begun, Start)
    assert begun.position.tolist() == [4.0, 5.0]


def test_a_start_is_as_certain_as_its_least_known_direction():
    spread = np.zeros((6, 6))
    spread[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    place = {**pose(4.0, 5.0), "covariance": spread.ravel().tolist()}
    known = listen(carry("/initialpose", START, {"header": header(SECOND, "map"), "pose": place}))
    clicked = listen(carry("/initialpose", START, {"header": header(SECOND, "map"), "pose": pose(4.0, 5.0)}))
    assert (known.deviation, clicked.deviation) == (pytest.approx(np.sqrt(3)), 0.5)


@pytest.mark.parametrize(
    ("frame", "x", "said"), [("odom", 4.0, "its frame is 'odom'"), ("map", float("nan"), "its position is")]
)
def test_a_start_elsewhere_is_refused(frame, x, said):
    with pytest.raises(InputError, match=f"topic /initialpose: {said}"):
        listen(carry("/initialpose", START, {"header": header(SECOND, frame), "pose": pose(x, 5.0)}))


class Local:
    """A carrier whose messages are this test's."""

    def __init__(self):
        self.takers, self.announced, self.closed = {}, {}, 0

    def subscribe(self, topic, take):
        self.takers[topic] = take

    def when_sent_away(self, end):
        self.send_away = end

    def decode(self, kind, raw):
        return decode(kind, raw)

    def announce(self, topic, kind):
        self.announced[topic] = kind

    def publish(self, message):
        raise NotImplementedError

    def close(self):
        self.closed += 1


def send(carrier, carried):
    carrier.takers[carried.topic](carried)


@pytest.fixture
def heard():
    carrier = Local()
    heard = Heard(TopicSource(carrier, Subscribed("/image", odometry="/odom", imu="/imu")))
    wait_until(lambda: len(carrier.takers) == 4, "four subscriptions")
    yield SimpleNamespace(carrier=carrier, source=heard.source, events=heard.events, wait_for=heard.wait_for)
    heard.close()
    assert carrier.closed == 1


KINDS = [IMAGE, ODOMETRY, IMU, TWIST, START, "no_such/msg/Type", ""]
TOPICS = ["/image", "/odom", "/imu", "/initialpose"]


@settings(deadline=None, derandomize=True)
@given(
    st.lists(
        st.builds(
            lambda topic, kind, raw: Carried(topic, kind, raw, 1, 1),
            st.sampled_from(TOPICS),
            st.sampled_from(KINDS),
            st.binary(max_size=200).map(lambda raw: b"\x00\x01\x00\x00" + raw),
        ),
        max_size=20,
    )
)
def test_no_bytes_end_the_source(sent):
    listener = Listener(Subscribed("/image", odometry="/odom", imu="/imu"), decode)
    for carried in sent:
        with suppress(InputError):
            listener.hear(carried)
    assert listener.hear(image(SECOND)).frame.stamp == SECOND


GOOD = [image(SECOND), odometry(SECOND, 1.0, 2.0, 0.1), imu(SECOND, 0.1)]
GOOD.append(carry("/initialpose", START, {"header": header(SECOND), "pose": pose(1.0, 2.0)}))


@settings(deadline=None, derandomize=True)
@given(st.sampled_from(GOOD), st.data())
def test_no_flipped_bytes_end_the_source(carried, data):
    raw = bytearray(carried.raw)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    listener = Listener(Subscribed("/image", odometry="/odom", imu="/imu"), decode)
    found = None
    with suppress(InputError):
        found = listener.hear(carried._replace(raw=bytes(raw)))
    if isinstance(found, Start):
        assert np.isfinite(found.position).all()
        assert 0 < found.deviation < np.inf
    told = listener.hear(image(SECOND))
    assert told.odometry is None or all(map(np.isfinite, told.odometry))


def test_damage_is_counted_and_noted(heard):
    send(heard.carrier, image(SECOND)._replace(raw=b"nothing"))
    send(heard.carrier, image(2 * SECOND, np.full((2, 3), 7, np.uint16)))
    (arrival,) = heard.wait_for(1)
    assert arrival.frame.stamp == 2 * SECOND
    part = heard.source.read()
    assert (part.name, part.done, part.dropped, heard.source.refused) == ("topic /image", 1, 0, 1)
    assert part.note.startswith("1 messages not read, the last: topic /image: a message of 7 bytes cannot be read")


def test_a_source_that_nobody_reads_keeps_few_images():
    source = TopicSource(Local(), Subscribed("/image"))
    events = iter(source)
    source._carrier.subscribe = lambda topic, take: [take(image(stamp)) for stamp in range(1, 101) if topic == "/image"]
    assert [next(events).frame.stamp for _ in range(IMAGES)] == list(range(101 - IMAGES, 101))
    assert source.dropped == 100 - IMAGES
    source.close()
    assert list(events) == []


def test_a_node_that_is_sent_away_ends_the_drive():
    carrier = Local()
    heard = Heard(TopicSource(carrier, Subscribed("/image")))
    wait_until(lambda: len(carrier.takers) == 2, "two subscriptions")
    carrier.send_away()
    heard.join()


def test_no_transform_to_an_odometry_that_nobody_hears():
    with pytest.raises(InputError, match=r"map→odom is told from the robot's odometry: name its topic \(--odometry\)"):
        share(Local(), Subscribed("/image"), Frames(tf="odom"))


@pytest.mark.parametrize(
    ("frames", "on_earth", "silent"),
    [(Frames(), True, set()), (Frames(), False, {GPS}), (Frames(tf="none"), False, {GPS, TF})],
)
def test_topics_that_a_drive_cannot_have_are_not_announced(frames, on_earth, silent):
    carrier = Local()
    scene = SimpleNamespace(localizer=SimpleNamespace(frame=SimpleNamespace(on_earth=on_earth)))
    TopicSink(carrier, frames).begin(scene)
    assert carrier.announced == {topic: kind for topic, kind in PUBLISHED.items() if topic not in silent}


def test_the_last_who_leaves_takes_the_node_with_him():
    carrier = Local()
    source, sink = share(carrier, Subscribed("/image"))
    source.close()
    source.close()
    assert carrier.closed == 0
    sink.close()
    assert carrier.closed == 1


def test_readings_push_no_image_out():
    inbox = Inbox("/image")
    inbox.put(image(SECOND))
    reading = imu(SECOND, 0.0)
    for number in range(READINGS + 10):
        inbox.put(reading._replace(received=number))
    assert inbox.take().topic == "/image"
    assert inbox.take().received == 10
    assert inbox.dropped == 0


def test_a_closed_inbox_lets_go_of_who_waits():
    inbox, found = Inbox("/image"), []
    waiting = threading.Thread(target=lambda: found.append(inbox.take()))
    waiting.start()
    inbox.close()
    waiting.join()
    inbox.put(image(SECOND))
    assert found == [None]
    assert inbox.take() is None


@pytest.mark.parametrize("topic", ["", "/", "//a", "/a/", "/1a", "/a b", "/a/*", "/ä", "/a#", "~/a", "/a\n"])
def test_no_names_of_topics(topic):
    with pytest.raises(InputError, match="is no name of a topic"):
        check_topic(topic)
