"""Odometry beside the frames: from bags and tables to percepts, and never invented."""

import numpy as np
import pytest

from bags import (
    GPS,
    LOCAL,
    ODOMETRY,
    SCENE,
    START,
    STORES,
    TENTH,
    fix,
    images,
    odometry,
    refusal,
    scenes,
    written,
)
from tmapr.data.bag import Topics, read_bag
from tmapr.data.folder import read_folder, write_folder
from tmapr.data.motion import Readings
from tmapr.data.sequence import from_arrays
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, Odometry

IMU, OTHER_IMU, CAN = "/imu/data", "/xsens/imu", "/vehicle/twist"
EVERY_KIND = pytest.mark.parametrize("kind", STORES)


@pytest.fixture
def kind():
    """Of bag, where it does not matter."""
    return "bag"


@pytest.fixture
def record(tmp_path, kind):
    """Writes a bag: a file in ROS 1, a folder in ROS 2."""
    path = tmp_path / ("run.bag" if kind == "bag" else "run")
    return lambda *entries: written(path, kind, entries)


def vector(types, x=0.0, y=0.0, z=0.0):
    return types["geometry_msgs/msg/Vector3"](x, y, z)


def imu(yaw_rate, *, measured=True):
    def fields(types):
        turn = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
        rates = {"angular_velocity": vector(types, z=yaw_rate), "linear_acceleration": vector(types, z=9.81)}
        covariances = dict.fromkeys(("orientation_covariance", "linear_acceleration_covariance"), np.zeros(9))
        known = np.zeros(9) if measured else np.array([-1.0, *[0.0] * 8])
        return {"orientation": turn, "angular_velocity_covariance": known} | rates | covariances

    return "sensor_msgs/msg/Imu", fields


def twist(speed, yaw_rate):
    def fields(types):
        return {"twist": types["geometry_msgs/msg/Twist"](vector(types, speed), vector(types, z=yaw_rate))}

    return "geometry_msgs/msg/TwistStamped", fields


def twist_with_covariance(speed, yaw_rate):
    def fields(types):
        inner = twist(speed, yaw_rate)[1](types)["twist"]
        return {"twist": types["geometry_msgs/msg/TwistWithCovariance"](inner, np.zeros(36))}

    return "geometry_msgs/msg/TwistWithCovarianceStamped", fields


def motions(path, **topics):
    return [frame.motion for frame in read_bag(path, "run", topics=Topics(**topics))]


@EVERY_KIND
def test_odometry_in_a_bag_gives_speed_and_yaw_rate_between_its_messages(record, rng):
    moving = [(ODOMETRY, START, odometry(0.0, 0.0, 0.0, speed=4.0, yaw_rate=-0.2))]
    moving += [(ODOMETRY, START + 4 * TENTH, odometry(2.0, 0.0, 0.0, speed=8.0, yaw_rate=0.2))]
    found = motions(record(*images(scenes(rng, 5)), *moving))
    assert [each.speed for each in found] == pytest.approx([4.0, 5.0, 6.0, 7.0, 8.0])
    assert [each.yaw_rate for each in found] == pytest.approx([-0.2, -0.1, 0.0, 0.1, 0.2])


@EVERY_KIND
@pytest.mark.parametrize("message", [twist, twist_with_covariance])
def test_a_twist_does_too_and_positions_may_come_from_elsewhere(message, record, rng):
    path = record(*images(scenes(rng, 1)), (CAN, START, message(-1.5, 0.25)), (GPS, START, fix(127.3, 36.3)))
    assert motions(path) == [Odometry(-1.5, 0.25)]


@EVERY_KIND
def test_a_gyroscope_is_asked_for_the_yaw_rate_before_the_odometry(record, rng):
    moving = (ODOMETRY, START, odometry(0.0, 0.0, 0.0, speed=4.0, yaw_rate=-0.2))
    assert motions(record(*images(scenes(rng, 1)), moving, (IMU, START, imu(0.5)))) == [Odometry(4.0, 0.5)]


def test_a_gyroscope_alone_tells_the_yaw_rate_alone(record, rng):
    assert motions(record(*images(scenes(rng, 1)), (IMU, START, imu(0.5)))) == [Odometry(None, 0.5)]


def test_an_imu_without_a_gyroscope_tells_nothing(record, rng):
    assert motions(record(*images(scenes(rng, 1)), (IMU, START, imu(0.0, measured=False)))) == [None]


def test_without_any_there_is_none(record, rng):
    assert motions(record(*images(scenes(rng, 2)))) == [None, None]


def test_of_several_topics_none_is_guessed_and_the_named_one_is_read(record, rng):
    entries = [*images(scenes(rng, 1)), (IMU, START, imu(0.5)), (OTHER_IMU, START, imu(0.7))]
    entries += [(CAN, START, twist(3.0, 0.1)), (ODOMETRY, START, odometry(0.0, 0.0, 0.0, speed=4.0))]
    path = record(*entries)
    assert motions(path) == [None]
    assert motions(path, speed=CAN, yaw_rate=OTHER_IMU) == [Odometry(3.0, 0.7)]
    assert motions(path, speed=CAN) == [Odometry(3.0, 0.1)]


def test_a_topic_that_does_not_tell_is_refused_with_those_that_do(record, rng):
    path = record(*images(scenes(rng, 1)), (IMU, START, imu(0.5)))
    assert refusal(path, Topics(speed=IMU)).endswith(f"data.topics.speed is {IMU!r}; topics with speeds are none")


@pytest.mark.parametrize(
    ("moving", "message"),
    [
        (odometry(0.0, 0.0, 0.0, speed=float("nan")), "speed is nan; it must be in metres per second, within ±100"),
        (odometry(0.0, 0.0, 0.0, speed=-250.0), "speed is -250; it must be in metres per second"),
        (odometry(0.0, 0.0, 0.0, yaw_rate=float("inf")), "yaw_rate is inf; it must be in radians per second"),
        (odometry(0.0, 0.0, 0.0, yaw_rate=90.0), "yaw_rate is 90; it must be in radians per second, within ±35"),
    ],
)
def test_a_bad_number_in_a_bag_is_refused_by_its_message_and_with_a_way_out(moving, message, record, rng):
    told = refusal(record(*images(scenes(rng, 1)), (ODOMETRY, START, moving)))
    assert f"topic {ODOMETRY}, message 1: {message}" in told
    assert "; name another topic, or none: data.topics." in told


@pytest.mark.parametrize(
    ("seconds", "value"),
    [(-0.2, None), (-0.1, 1.0), (0.0, 1.0), (0.2, 2.0), (0.4, 3.0), (0.6, None), (1.0, 9.0), (1.05, 9.0), (1.2, None)],
)
def test_nothing_is_invented_in_a_gap_or_beyond_the_ends(seconds, value):
    stamps = np.array([START + NANOSECONDS, START, START + 4 * TENTH, START])
    readings = Readings.sort(stamps, np.array([9.0, 1.0, 3.0, 7.0]))
    assert readings.at(START + round(seconds * NANOSECONDS)) == (None if value is None else pytest.approx(value))


@pytest.fixture
def table(tmp_path):
    """Writes frames.csv of two images with more columns and reads it."""

    def read(columns, *cells):
        (tmp_path / "drive").mkdir()
        lines = [f"stamp,file{columns}"]
        for row, more in enumerate(cells):
            (tmp_path / f"drive/{row}.png").touch()
            lines.append(f"{row}.5,{row}.png{more}")
        (tmp_path / "drive/frames.csv").write_text("\n".join(lines))
        return [frame.motion for frame in read_folder(tmp_path, "drive")]

    return read


@pytest.mark.parametrize(
    ("columns", "cells", "found"),
    [
        (",speed,yaw_rate", (",4.5,-0.1", ",,0.2", ",,"), [Odometry(4.5, -0.1), Odometry(None, 0.2), None]),
        (",yaw_rate", (",0.25", ","), [Odometry(None, 0.25), None]),
        (",speed", (",-1",), [Odometry(-1.0, None)]),
        ("", ("",), [None]),
    ],
)
def test_a_table_may_have_a_column_for_each(columns, cells, found, table):
    assert table(columns, *cells) == found


@pytest.mark.parametrize(
    ("columns", "cell", "message"),
    [
        (",speed", ",fast", "line 2: speed is 'fast'"),
        (",speed", ",nan", "line 2: speed is nan; leave it empty"),
        (",yaw_rate", ",inf", "line 2: yaw_rate is inf; leave it empty"),
        (",speed", ",360", "line 2: speed is 360; it must be in metres per second, within ±100"),
        (",yaw_rate", ",-45", "line 2: yaw_rate is -45; it must be in radians per second, within ±35"),
        (",yawrate", ",0", "is 'yawrate' the yaw_rate?"),
    ],
)
def test_a_bad_cell_is_refused_by_its_line(columns, cell, message, table):
    with pytest.raises(InputError) as refused:
        table(columns, cell)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_written_reads_back_bit_for_bit(tmp_path, rng):
    motion = rng.normal(size=(4, 2))
    motion[1], motion[2, 0] = np.nan, np.nan
    places = rng.normal(size=(4, 2))
    drive = from_arrays("a", LOCAL, np.arange(4), lambda _: SCENE, places, places[:, 0], motion=motion)
    write_folder(tmp_path / "a", drive)
    found = [frame.motion for frame in read_folder(tmp_path, "a")]
    assert found == [frame.motion for frame in drive]
    assert found[1] is None
    assert found[2] == Odometry(None, motion[2, 1])
