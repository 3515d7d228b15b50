"""Answers in the words of ROS: what is said, when it is said, and in which axes."""

from dataclasses import replace
from math import cos, pi, sin

import numpy as np
import pytest
from pyproj import CRS, Proj, Transformer
from scipy.spatial.transform import Rotation

from answered import HEALTH, WELL, say
from tmapr.exceptions import InputError
from tmapr.geodesy import LOCAL_FRAME, CoordinateFrame
from tmapr.live.bearing import UNOBSERVED
from tmapr.live.definitions import load_types, to_rosbags
from tmapr.live.events import Pose
from tmapr.live.messages import TOPICS, Frames, Message
from tmapr.live.speaker import Speaker
from tmapr.types import Candidate, Odometry, Reason, Status

RELEASES = ["ROS1_NOETIC", "ROS2_FOXY", "ROS2_HUMBLE", "ROS2_JAZZY", "ROS2_KILTED", "ROS2_LYRICAL"]
SECOND = 1_000_000_000
STANDS = np.diag([1.0, 1.0, 0.5, 0.5])
"""A covariance with which a slow velocity has no direction."""
MOVES = np.diag([1.0, 1.0, 0.01, 0.01])


@pytest.fixture
def answer(answers):
    return answers[40]


def by_topic(messages):
    return {message.topic: message.value for message in messages}


def speak(answer, frames=None):
    return by_topic(Speaker(frames).speak(answer))


def find_yaw(orientation):
    return Rotation.from_quat([orientation[axis] for axis in "xyzw"]).as_euler("xyz")[2]


def find_covariance(told):
    return np.array(told["covariance"]).reshape(6, 6)


def to_matrix(x, y, yaw):
    """A pose in the plane as the transform that it is, written out."""
    return np.array([[cos(yaw), -sin(yaw), x], [sin(yaw), cos(yaw), y], [0.0, 0.0, 1.0]])


def read_matrix(transform):
    return to_matrix(transform["translation"]["x"], transform["translation"]["y"], find_yaw(transform["rotation"]))


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_reads_back_what_was_said_with_the_cameras_stamp(answer, release):
    types = load_types(release)
    stamp = 1_679_536_800_123_456_789
    speaker = Speaker()
    messages = [*speaker.speak(say(answer, heading=0.3, stamp=stamp)), speaker.diagnose(HEALTH, stamp)]
    assert {message.topic: message.type for message in messages} == TOPICS
    for message in messages:
        made = to_rosbags(message, types)
        if release == "ROS1_NOETIC":
            read = types.deserialize_ros1(types.serialize_ros1(made, message.type), message.type)
        else:
            read = types.deserialize_cdr(types.serialize_cdr(made, message.type), message.type)
        header = read.transforms[0].header if message.topic == "/tf" else read.header
        assert header.stamp.sec * SECOND + header.stamp.nanosec == stamp
    assert read.status[2].message == "5 frames dropped"


def test_a_stamp_that_ros_cannot_hold_is_refused(answer):
    message = Speaker().speak(say(answer, stamp=2**31 * SECOND))[0]
    with pytest.raises(InputError, match="stamp 2147483648000000000: ROS 2 counts"):
        to_rosbags(message, load_types("ROS2_JAZZY"))
    assert to_rosbags(message, load_types("ROS1_NOETIC")).header.stamp.sec == 2**31


def test_a_release_that_nobody_knows_is_refused():
    with pytest.raises(InputError, match=r"'ROS3_X' is no release of ROS.*ROS2_JAZZY"):
        load_types("ROS3_X")


@pytest.mark.parametrize("value", [{"transforms": [], "more": 1}, {}])
def test_a_value_with_other_fields_than_its_type_is_refused(value):
    with pytest.raises(ValueError, match="tf2_msgs/msg/TFMessage has transforms, given are"):
        to_rosbags(Message("/tf", "tf2_msgs/msg/TFMessage", value), load_types("ROS2_JAZZY"))


def test_covariances_are_symmetric_and_positive_definite_in_every_frame(answers):
    speaker = Speaker()
    for answer in answers:
        told = by_topic(speaker.speak(answer))
        covariances = [find_covariance(told["~/odometry"][part]) for part in ("pose", "twist")]
        covariances += [find_covariance(told["~/fix"]["pose"])] if "~/fix" in told else []
        covariances += [np.array(told["~/gps"]["position_covariance"]).reshape(3, 3)] if "~/gps" in told else []
        for covariance in covariances:
            np.testing.assert_array_equal(covariance, covariance.T)
            assert np.linalg.eigvalsh(covariance)[0] > 0


def test_what_nobody_observes_has_a_large_variance(answer):
    pose = find_covariance(speak(say(answer, covariance=STANDS, mean=[1, 2, 0, 0]))["~/odometry"]["pose"])
    assert (np.diag(pose)[2:] == UNOBSERVED).all()
    known = find_covariance(speak(say(answer, heading=0.1))["~/odometry"]["pose"])
    assert (np.diag(known)[2:5] == UNOBSERVED).all()
    assert known[5, 5] < 0.1


ALL, WITHOUT_FIX, TRACK = {"~/fix", "~/odometry", "~/gps", "/tf"}, {"~/odometry", "/tf"}, {"~/odometry"}


@pytest.mark.parametrize(
    ("statuses", "topics"),
    [
        ([Status.LOCALIZED], ALL),
        ([Status.PREDICTING], TRACK),
        ([Status.LOST], TRACK),
        ([Status.APR_ONLY], TRACK),
        ([Status.LOCALIZED, Status.PREDICTING], WITHOUT_FIX),
        ([Status.LOCALIZED, Status.PREDICTING, Status.PREDICTING], WITHOUT_FIX),
        ([Status.LOCALIZED, Status.LOST], TRACK),
        ([Status.LOCALIZED, Status.LOST, Status.PREDICTING], TRACK),
        ([Status.LOCALIZED, Status.APR_ONLY], TRACK),
        ([Status.LOST, Status.LOCALIZED], ALL),
    ],
)
def test_the_status_says_which_topics_are_told(answer, statuses, topics):
    speaker = Speaker()
    for status in statuses:
        told = by_topic(speaker.speak(say(answer, status=status, heading=0.3)))
    assert set(told) == topics


@pytest.mark.parametrize("reason", [each for each in Reason if each not in (Reason.ACCEPTED, Reason.RELOCALIZED)])
def test_a_fix_needs_a_reference_that_was_accepted_now(answer, reason):
    assert "~/fix" not in speak(say(answer, reason=reason, heading=0.3))


@pytest.mark.parametrize("reason", [Reason.OLDER_STAMP, Reason.REPEATED_STAMP])
def test_of_a_frame_that_came_too_late_nothing_is_said(answer, reason):
    assert Speaker().speak(say(answer, reason=reason, heading=0.3)) == []


def test_a_pose_heads_heading_is_told_with_more_doubt_than_a_mapped_one(answer):
    headed = replace(answer, estimate=replace(answer.estimate, percept=replace(answer.estimate.percept, heading=-2.0)))
    pose = speak(headed)["~/odometry"]["pose"]
    assert find_yaw(pose["pose"]["orientation"]) == pytest.approx(-2.0)
    assert find_covariance(pose)[5, 5] == 0.25


def test_a_map_without_degrees_tells_none(answer):
    assert set(speak(say(answer, heading=0.3, frame=LOCAL_FRAME))) == ALL - {"~/gps"}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_said(answer, bad):
    assert Speaker().speak(say(answer, mean=[bad, 0, 0, 0])) == []
    assert Speaker().speak(say(answer, covariance=np.diag([1, bad, 1, 1]))) == []


def test_a_fix_is_the_reference_with_the_beliefs_moment_about_it(answer):
    estimate = answer.estimate
    told = speak(answer)["~/fix"]["pose"]
    candidate: Candidate = estimate.candidate
    assert [told["pose"]["position"][axis] for axis in "xy"] == candidate.position.tolist()
    # Four points with the belief's mean and covariance: their mean square about the reference is the moment.
    root = np.linalg.cholesky(estimate.covariance)
    points = [estimate.position + sign * 2**0.5 * column for column in root.T for sign in (-1, 1)]
    moment = np.mean([np.outer(point - candidate.position, point - candidate.position) for point in points], axis=0)
    np.testing.assert_allclose(find_covariance(told)[:2, :2], moment, rtol=1e-12)


def test_yaw_counts_counter_clockwise_from_east(answer):
    told = speak(say(answer, heading=pi / 2, mean=[3, 4, -2, 0], covariance=MOVES))
    odometry = told["~/odometry"]
    assert find_yaw(odometry["pose"]["pose"]["orientation"]) == pytest.approx(pi / 2)
    # It faces North and moves West: to its left.
    linear = odometry["twist"]["twist"]["linear"]
    assert [linear["x"], linear["y"]] == pytest.approx([0, 2])
    north = Rotation.from_quat([told["/tf"]["transforms"][0]["transform"]["rotation"][axis] for axis in "xyzw"])
    np.testing.assert_allclose(north.apply([1, 0, 0]), [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize("yaw", [-3.0, -1.2, 0.0, 0.4, 2.9])
def test_the_twist_is_the_velocity_turned_into_the_robots_axes(answer, yaw, rng):
    velocity = rng.normal(size=2)
    spread = np.array([[0.3, 0.1], [0.1, 0.2]])
    covariance = np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), spread]])
    told = speak(say(answer, heading=yaw, mean=[0, 0, *velocity], covariance=covariance))["~/odometry"]["twist"]
    linear = [told["twist"]["linear"][axis] for axis in "xy"]
    turned = to_matrix(0, 0, yaw)[:2, :2].T
    np.testing.assert_allclose(linear, turned @ velocity, atol=1e-12)
    # What the yaw's own variance adds, by differences.
    step = 1e-6
    slope = (to_matrix(0, 0, yaw + step)[:2, :2].T @ velocity - to_matrix(0, 0, yaw - step)[:2, :2].T @ velocity) / (
        2 * step
    )
    expected = turned @ spread @ turned.T + 0.04 * np.outer(slope, slope)
    np.testing.assert_allclose(find_covariance(told)[:2, :2], expected, atol=1e-8)


def test_without_a_heading_a_moving_robot_faces_where_it_goes(answer):
    told = speak(say(answer, mean=[0, 0, 1, 1], covariance=MOVES))["~/odometry"]
    assert find_yaw(told["pose"]["pose"]["orientation"]) == pytest.approx(pi / 4)
    assert find_covariance(told["pose"])[5, 5] == pytest.approx(0.01 / 2)
    assert told["twist"]["twist"]["linear"]["x"] == pytest.approx(2**0.5)


def test_a_robot_that_reverses_faces_away_from_where_it_goes(answer):
    backwards = say(answer, mean=[0, 0, 1, 1], covariance=MOVES, motion=Odometry(speed=-1.4))
    told = speak(backwards)["~/odometry"]
    assert find_yaw(told["pose"]["pose"]["orientation"]) == pytest.approx(pi / 4 - pi)
    assert told["twist"]["twist"]["linear"]["x"] == pytest.approx(-(2**0.5))


def test_a_robot_that_stands_faces_where_it_last_did_and_says_that_nobody_saw_it(answer):
    speaker = Speaker()
    speaker.speak(say(answer, heading=1.1))
    told = by_topic(speaker.speak(say(answer, mean=[0, 0, 0.1, 0], covariance=STANDS)))
    pose = told["~/odometry"]["pose"]
    assert find_yaw(pose["pose"]["orientation"]) == pytest.approx(1.1)
    assert find_covariance(pose)[5, 5] == UNOBSERVED
    assert find_yaw(told["/tf"]["transforms"][0]["transform"]["rotation"]) == pytest.approx(1.1)


def test_with_no_direction_at_all_there_is_no_transform_and_the_velocity_may_point_anywhere(answer, rng):
    told = speak(say(answer, mean=[0, 0, 0.3, 0.4], covariance=STANDS))
    assert "/tf" not in told
    twist = told["~/odometry"]["twist"]
    assert twist["twist"]["linear"] == {"x": 0.0, "y": 0.0, "z": 0.0}
    # Velocities of the belief, each seen from a robot that faces anywhere.
    drawn = rng.multivariate_normal([0.3, 0.4], STANDS[2:, 2:], size=200_000)
    angles = rng.uniform(-pi, pi, size=len(drawn))
    forward = drawn[:, 0] * np.cos(angles) + drawn[:, 1] * np.sin(angles)
    assert find_covariance(twist)[0, 0] == pytest.approx(forward.var(), rel=0.02)


def test_without_a_heading_the_last_one_turns_with_the_odometry(answer):
    speaker, start = Speaker(), answer.stamp
    speaker.speak(say(answer, heading=3.0, odometry=Pose(0, 0, 0.5)))
    turned = say(answer, mean=[0, 0, 1, 0], covariance=MOVES, odometry=Pose(1, 1, 0.8), stamp=start + 9 * SECOND)
    pose = by_topic(speaker.speak(turned))["~/odometry"]["pose"]
    assert find_yaw(pose["pose"]["orientation"]) == pytest.approx(3.3 - 2 * pi)
    assert find_covariance(pose)[5, 5] == pytest.approx(0.04 + 9e-4)


def test_the_transform_to_odom_composed_with_odometry_is_where_the_robot_is(answer, rng):
    frames = Frames(tf="odom", base="base_footprint")
    for _ in range(50):
        own = Pose(*rng.normal(scale=100, size=2), rng.uniform(-4, 4))
        x, y, heading = *rng.normal(scale=100, size=2), rng.uniform(-pi, pi)
        told = speak(say(answer, mean=[x, y, 0, 0], heading=heading, odometry=own), frames)["/tf"]["transforms"][0]
        assert (told["header"]["frame_id"], told["child_frame_id"]) == ("map", "odom")
        np.testing.assert_allclose(
            read_matrix(told["transform"]) @ to_matrix(*own), to_matrix(x, y, heading), atol=1e-10
        )


def test_the_transform_to_odom_needs_odometry_and_none_is_told_where_none_is_wanted(answer):
    assert "/tf" not in speak(say(answer, heading=0.3), Frames(tf="odom"))
    assert "/tf" not in speak(say(answer, heading=0.3, odometry=Pose(0, 0, 0)), Frames(tf="none"))


def test_degrees_are_pyprojs(answer):
    longitude, latitude = answer.estimate.frame.origin
    pipeline = (
        "+proj=pipeline +step +inv +proj=topocentric +ellps=WGS84"
        f" +lon_0={longitude} +lat_0={latitude} +h_0=0 +step +inv +proj=cart +ellps=WGS84"
    )
    east, north = answer.estimate.position.tolist()
    expected = Transformer.from_pipeline(pipeline).transform(east, north, 0.0)
    told = speak(answer)["~/gps"]
    assert [told["longitude"], told["latitude"]] == pytest.approx(expected[:2], abs=1e-11)
    assert told["position_covariance_type"] == 3
    assert told["position_covariance"][8] == UNOBSERVED


def test_degrees_of_a_grid_have_their_covariance_along_true_north(answer):
    frame = CoordinateFrame("utm", "52N", (650_000.0, 4_026_000.0))
    spread = np.diag([4.0, 0.25, 1.0, 1.0])
    spread[0, 1] = spread[1, 0] = 0.5
    told = speak(say(answer, mean=[100, 200, 0, 0], covariance=spread, frame=frame))["~/gps"]
    grid = Proj(CRS.from_epsg(32652))
    assert grid(told["longitude"], told["latitude"]) == pytest.approx((650_100, 4_026_200), abs=1e-5)
    factors = grid.get_factors(told["longitude"], told["latitude"])
    convergence = np.radians(factors.meridian_convergence)
    # Grid North is turned clockwise from true North by the convergence, and a metre on the grid is 1/k on the ground.
    turned = to_matrix(0, 0, -convergence)[:2, :2] / factors.meridional_scale
    expected = turned @ spread[:2, :2] @ turned.T
    found = np.array(told["position_covariance"]).reshape(3, 3)[:2, :2]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert abs(convergence) > 0.01


def list_statuses(message):
    return {status["name"]: (status["level"], status["message"]) for status in message.value["status"]}


def test_a_drive_that_does_well_says_so(answer):
    speaker = Speaker()
    speaker.speak(answer)
    assert list_statuses(speaker.diagnose(WELL, 5)) == {"tmapr": (0, "localized"), "tmapr: source": (0, "ok")}


def test_only_frames_dropped_since_the_last_report_are_a_warning(answer):
    speaker = Speaker()
    speaker.speak(answer)
    first, second = (list_statuses(speaker.diagnose(HEALTH, stamp)) for stamp in (5, 6))
    assert first["tmapr"] == (1, "late: viewer; 5 frames dropped")
    assert first["tmapr: perception"] == (1, "5 frames dropped")
    assert first["tmapr: viewer"] == (2, "late: busy for 9.5 s; 80 frames dropped; it hangs")
    assert second["tmapr"] == (1, "late: viewer")
    assert second["tmapr: perception"] == (0, "ok")


@pytest.mark.parametrize(
    ("status", "level"), [(None, 2), (Status.LOST, 2), (Status.PREDICTING, 1), (Status.APR_ONLY, 1)]
)
def test_a_drive_that_is_not_localized_warns(answer, status, level):
    speaker = Speaker()
    if status:
        speaker.speak(say(answer, status=status))
    told = list_statuses(speaker.diagnose(WELL, 5))["tmapr"]
    assert told == (level, "no frame answered yet" if status is None else str(status))


@pytest.mark.parametrize(
    ("names", "words"),
    [({"map": ""}, "cannot be named ''"), ({"base": "/base"}, "leading slash"), ({"odom": "map"}, "each its own name")],
)
def test_frames_that_tf_would_refuse_are_refused(names, words):
    with pytest.raises(InputError, match=words):
        Frames(**names)
