"""What the viewer is given, read back by Rerun's own reader."""

import re
import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest

import tmapr
from tmapr.live.events import Health, Part
from tmapr.live.viewer.sink import open_view
from tmapr.perception.image import Image
from tmapr.reports.film.colours import list_grays, list_heat
from tmapr.types import CHI2_95, Fault, Reason, Status, Verdict
from viewed import Recorded, write

WELL = Health(1.0, taken=9, answered=8, dropped=1, lessons=2, rollbacks=0, parts=(Part("source", done=9),))
LATE = replace(WELL, parts=(Part("viewer", done=3, late=True), Part("learning", done=2, late=True)))
PER_FRAME = {
    "/camera/image",
    "/curves/latency",
    "/curves/semi_axis",
    "/curves/trust",
    "/map/belief",
    "/map/ellipse",
    "/map/here",
    "/map/match",
    "/map/track/recent",
    "/map/truth/recent",
    "/route/off_map",
    "/route/probability",
    "/state",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, scene, answers):
    return write(tmp_path_factory.mktemp("viewed") / "night.rrd", scene, answers)


def test_every_frame_is_on_both_timelines(recorded, answers):
    numbers = [answer.number for answer in answers]
    for path in PER_FRAME:
        assert sorted(recorded.rows[path]) == numbers
    assert [recorded.stamps[number] for number in numbers] == [answer.frame.stamp for answer in answers]


def test_curves_are_what_the_estimates_say(recorded, answers):
    for answer in answers:
        estimate = answer.estimate
        said = recorded.at("/curves/trust", answer.number, "Scalars:scalars")
        assert said == [estimate.candidate.similarity, estimate.route.p_place, estimate.route.p_off_map]
        assert recorded.at("/curves/semi_axis", answer.number, "Scalars:scalars") == [estimate.belief.semi_axis]
        spent = recorded.at("/curves/latency", answer.number, "Scalars:scalars")
        assert spent == [1e3 * seconds for seconds in answer.timings]


def test_the_estimate_and_its_ellipse_are_where_the_filter_has_them(recorded, answers):
    for answer in answers:
        here = recorded.at("/map/here", answer.number, "Transform3D:translation")[0]
        np.testing.assert_allclose(recorded.middle + here[:2], answer.estimate.position, atol=1e-5)
        (ring,) = recorded.at("/map/ellipse", answer.number, "LineStrips2D:strips")
        off = recorded.middle + np.array(ring) - answer.estimate.position
        distances = np.einsum("ni,ij,nj->n", off, np.linalg.inv(answer.estimate.covariance), off)
        np.testing.assert_allclose(distances, CHI2_95, rtol=1e-3)


def test_the_track_is_whole_and_sent_in_pieces(tmp_path, scene, answers):
    """At any frame, what was laid aside and what is recent are the track up to it, each point once."""
    small = replace(answers[0].frame, image=lambda: answers[0].frame.image()[:32, :32])
    driven = [replace(answers[number % 7], number=number, frame=small) for number in range(66)]
    recorded = write(tmp_path / "long.rrd", scene, driven)
    pieces = recorded.rows["/map/track/past"]
    for frame in (0, 5, 62, 63, 64, 65):
        past = [point for at, row in sorted(pieces.items()) if at <= frame for point in row["Points2D:positions"]]
        recent = recorded.at("/map/track/recent", frame, "Points2D:positions")
        wanted = [answer.estimate.position for answer in driven[: frame + 1]]
        np.testing.assert_allclose(recorded.middle + np.array(past + recent), wanted, atol=1e-5)
    assert len(pieces) == 1


def test_a_bar_stands_where_its_references_lie(recorded, scene, answers):
    memory, estimate = scene.localizer.memory, answers[-1].estimate
    along = np.concatenate([[0.0], np.hypot(*np.diff(memory.positions[memory.order], axis=0).T).cumsum()])
    likeliest = estimate.route.rows[estimate.route.masses.argmax()]
    metres = along[memory.order.tolist().index(likeliest)]
    bars = tensor(recorded.at("/route/probability", answers[-1].number, "BarChart:values"))
    middles = tensor(recorded.at("/route/probability", answers[-1].number, "BarChart:abscissa"))
    assert abs(middles[bars.argmax()] - metres) <= middles[1] - middles[0]


def test_the_camera_is_shown_as_the_network_sees_it(recorded, scene, answers):
    counts = answers[5].frame.image()
    gray = Image().prepare(counts, counts.shape)
    assert_alike(picture(recorded, "/camera/image", 5), list_heat()[gray])


def test_the_match_is_the_picture_of_the_reference(recorded, scene, answers):
    noon = list(tmapr.open_sequence(tmapr.locate_sample() / "noon"))
    for answer in answers[::11]:
        counts = noon[answer.estimate.candidate.reference].image()
        colours = list_heat() if answer.estimate.verdict.accepted else list_grays()
        assert_alike(picture(recorded, "/match/image", answer.number), colours[Image().prepare(counts, counts.shape)])


def test_a_match_is_sent_when_it_is_another_one(recorded, answers):
    shown = [(answer.estimate.candidate.reference, answer.estimate.verdict.accepted) for answer in answers]
    changed = [0, *(after for after in range(1, len(shown)) if shown[after] != shown[after - 1])]
    assert sorted(recorded.rows["/match/image"]) == changed
    assert len(changed) < len(shown)
    for answer in answers:
        (words,) = recorded.at("/match/words", answer.number, "Points2D:labels")
        assert words.startswith(f"frame {answer.estimate.candidate.reference} of noon, ")


def test_verdicts_are_told_when_they_change(recorded, answers):
    last = None
    for answer in answers:
        verdict = (answer.estimate.status.value, answer.estimate.verdict.reason.value)
        assert (answer.number in recorded.rows["/verdict/status"]) == (verdict != last)
        assert recorded.at("/verdict/status", answer.number, "StateChange:state") == [verdict[0]]
        assert recorded.at("/verdict/reason", answer.number, "StateChange:state") == [verdict[1]]
        last = verdict


def test_no_route_filter_means_no_belief_and_no_candidate_no_match(tmp_path, scene, answers):
    bare = replace(
        answers[0].estimate, route=None, candidate=None, verdict=Verdict(Reason.NO_CANDIDATE), status=Status.LOST
    )
    found = write(tmp_path / "bare.rrd", scene, [replace(answers[0], estimate=bare)])
    assert not {"/map/belief", "/route/probability", "/route/off_map"} & set(found.rows)
    assert np.isnan(found.at("/curves/trust", 0, "Scalars:scalars")).all()
    assert found.at("/match/words", 0, "Points2D:labels") == ["nothing in the map resembles this"]
    assert found.at("/map/match", 0, "LineStrips2D:strips") == []


def test_an_image_that_shows_nothing_is_said_to(tmp_path, scene, answers):
    blank = replace(answers[0].frame, image=lambda: np.full((64, 80), 65535, np.uint16))
    percept = replace(answers[0].estimate.percept, fault=Fault.SATURATED)
    faulty = replace(answers[0], frame=blank, estimate=replace(answers[0].estimate, percept=percept))
    found = write(tmp_path / "blank.rrd", scene, [faulty, replace(answers[1], number=1)])
    assert found.at("/camera/words", 0, "Points2D:labels") == ["this image cannot be used"]
    assert found.at("/camera/words", 1, "Points2D:labels") == []


def test_maps_far_from_the_origin_keep_their_centimetres(tmp_path, scene, answers):
    """Positions in UTM have seven digits before the point, and the viewer's numbers seven in all."""
    away = np.array([448_123.37, 5_411_987.61])
    memory = replace(scene.localizer.memory, positions=scene.localizer.memory.positions + away)
    estimate = answers[3].estimate
    mean = estimate.belief.mean + np.concatenate([away, np.zeros(2)])
    moved = replace(
        estimate,
        belief=replace(estimate.belief, mean=mean),
        candidate=replace(estimate.candidate, position=estimate.candidate.position + away),
    )
    localizer = scene.localizer.fork()
    localizer.memory = memory
    elsewhere = replace(scene, localizer=localizer)
    found = write(tmp_path / "utm.rrd", elsewhere, [replace(answers[3], estimate=moved)])
    here = found.at("/map/here", 3, "Transform3D:translation")[0][:2]
    np.testing.assert_allclose(found.middle + here, mean[:2], atol=1e-4)


def test_health_is_in_the_answer_and_what_is_late_in_the_log(tmp_path, scene, answers):
    sink = open_view(str(tmp_path / "health.rrd"))
    sink.begin(scene)
    sink.take(answers[0])
    sink.report(WELL)
    sink.report(LATE)
    sink.report(LATE)
    sink.take(answers[1])
    sink.close()
    found = Recorded(tmp_path / "health.rrd")
    assert "8 answered, 1 dropped" in found.at("/state", 1, "TextDocument:text")[0]
    assert [text for text in found.texts if "late" in text] == ["late: viewer, learning"]


def test_where_the_mapped_images_are_gone_the_viewer_says_so(tmp_path, scene, answers):
    moved = shutil.copytree(scene.map_folder, tmp_path / "map")
    file = moved / "experiment.toml"
    file.write_text(file.read_text().replace("/street", "/elsewhere"))
    found = write(tmp_path / "gone.rrd", replace(scene, map_folder=moved), answers[:3])
    (words,) = found.at("/match/words", 2, "Points2D:labels")
    assert re.fullmatch("images of noon are not at .*elsewhere", words)
    assert sorted(found.rows["/match/image"]) == [0]


def tensor(value):
    (held,) = value
    return np.array(held["buffer"])


def picture(recorded, path, frame):
    (blob,) = recorded.at(path, frame, "EncodedImage:blob")
    return cv2.imdecode(np.array(blob, np.uint8), cv2.IMREAD_COLOR)


def assert_alike(seen, wanted):
    """But for what JPEG loses."""
    assert seen.shape == wanted.shape
    assert np.abs(seen.astype(int) - wanted).mean() < 6
