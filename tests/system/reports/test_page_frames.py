"""The frames of a page: whose pictures they are, what the map believed then, and what matched."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from drives import retold
from shown_frames import decoded, seen_in
from tmapr.artifacts.images import read_image
from tmapr.artifacts.trajectory import Column
from tmapr.config import changed
from tmapr.evaluation.curves import best_decision
from tmapr.perception.keypoints import KeypointFinder
from tmapr.perception.settings import Perception
from tmapr.reports.figures.responses import encode_tokens
from tmapr.reports.figures.route_belief import SPAN
from tmapr.reports.page.belief import list_beliefs
from tmapr.reports.page.explorer import render_explorer
from tmapr.reports.page.footage import MOST_PICTURES, Album, Footage, read_pictures
from tmapr.reports.page.matching import Matching
from tmapr.reports.page.page import render_page
from tmapr.reports.page.sequence import render_matches
from tmapr.reports.page.worst import render_worst
from tmapr.retrieval.verification import count_matches


@pytest.fixture(scope="module")
def drive(run):
    return run.sequences[0]


@pytest.fixture(scope="module")
def match(run, drive):
    return Matching(run, drive)


def blocks(text):
    return [json.loads(block) for block in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text)]


def explored(run, drive, album, frames):
    """The frames in the explorer's block of data."""
    return blocks(render_explorer(run, drive, album, Footage.of(run, drive, frames)))[0]["frames"]


def number_in(title):
    return int(re.search(r"frame (\d+)", title).group(1))


def test_a_frame_is_shown_with_its_own_picture_and_that_of_its_match(run, drive, street):
    album = Album()
    frames = explored(run, drive, album, 40)
    assert len(frames) == 40
    for frame in frames:
        row, matched = number_in(frame["title"]), number_in(frame["match_title"])
        assert matched == drive.table.references.values[row]
        assert seen_in(decoded(album.uris[frame["picture"]]), street / "data/night") == row
        assert seen_in(decoded(album.uris[frame["match_picture"]]), street / "data/noon") == matched


def test_a_wrong_match_that_was_believed_is_always_among_the_frames_and_called_wrong(run, drive):
    elsewhere = drive.table.reference_positions.values.copy()
    elsewhere[[11, 50]] += 200.0
    known = drive.table.reference_positions.known
    misled = retold(drive, reference_positions=Column(elsewhere, known))
    frames = explored(run, misled, Album(), 20)
    assert [number_in(frame["title"]) for frame in frames if frame["wrong"]] == [11, 50]


def test_what_is_not_known_of_a_frame_is_null(run, drive):
    nothing = np.zeros(70, dtype=bool)
    blank = retold(
        drive,
        references=Column(drive.table.references.values, nothing),
        reference_positions=Column(np.full((70, 2), np.nan), nothing),
    )
    recording = replace(blank.trial.recording, known=np.arange(70) == 0)
    frame = explored(run, replace(blank, trial=replace(blank.trial, recording=recording)), Album(), 5)[-1]
    assert [frame[key] for key in ("truth", "match", "error", "match_picture")] == [None] * 4
    assert frame["picture"] is not None


def test_each_of_the_worst_frames_has_its_picture_its_error_and_a_link_that_the_page_offers(run, drive, street):
    footage = Footage.of(run, drive, 100)
    errors = drive.errors(drive.fused).values
    assert footage.worst[0] == errors.argmax()
    for row, entry in zip(footage.worst, render_worst(drive, footage, "there").split("<li")[1:], strict=True):
        assert seen_in(decoded(re.search(r'src="([^"]+)"', entry)[1]), street / "data/night") == row
        assert f"{errors[row]:.2f} m" in entry
        assert footage.rows[int(re.search(r'data-frame="(\d+)"', entry)[1])] == row


def test_pictures_stay_within_the_limit_and_are_kept_once(run):
    text = render_page([run, replace(run, experiment=changed(run.experiment, {"name": "other"}))])
    uris = blocks(text)[-1]
    assert 100 < len(uris) == len(set(uris)) <= MOST_PICTURES
    assert len(text) < 2_000_000


def wanted(run, *rows):
    return {row: int(run.sequences[0].table.stamps[row]) for row in rows}


def remove(folder):
    for file in (folder / "images").iterdir():
        file.unlink()


def damage(folder):
    for file in (folder / "images").iterdir():
        file.write_bytes(b"damaged")


def record_anew(folder):
    table = folder / "frames.csv"
    table.write_text(re.sub(r"(\d{18})\d,", r"\g<1>7,", table.read_text()))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [(remove, "are not at"), (damage, "cannot be read"), (record_anew, "are of another recording")],
)
def test_why_there_are_no_pictures_is_said_with_the_folder(run, street_copy, spoil, says):
    spoil(street_copy / "data/night")
    moved = replace(run, experiment=changed(run.experiment, {"data.root": str(street_copy / "data")}))
    pictures = read_pictures(moved.experiment, "night", wanted(run, 1, 2))
    assert pictures.found == {}
    assert says in pictures.absent
    assert str(street_copy / "data") in pictures.absent
    assert pictures.absent in render_page([moved])


def test_a_damaged_image_is_missing_and_one_that_is_not_shown_is_not_read(run, street_copy):
    (street_copy / "data/night/images/03.jpg").write_bytes(b"damaged")
    experiment = changed(run.experiment, {"data.root": str(street_copy / "data")})
    assert list(read_pictures(experiment, "night", wanted(run, 2, 3, 4)).found) == [2, 4]


def test_bars_are_the_beliefs_and_the_truth_is_marked_only_where_it_is_known_and_on_the_map(run, drive):
    known = np.arange(70) != 9
    recording = replace(drive.trial.recording, known=known, truth=drive.trial.recording.truth + 1e4 * ~known[:, None])
    recording.truth[8] += 500.0
    shown = list_beliefs(run, replace(drive, trial=replace(drive.trial, recording=recording)), range(70))
    for row, frame in enumerate(shown["frames"]):
        references, masses = drive.trial.beliefs.after(row)
        flat = shown["views"][frame["view"]]
        assert len(flat) == 2 * len(references)
        np.testing.assert_allclose(flat[1::2], np.sqrt(masses) * (SPAN[1] - SPAN[0]), atol=0.51)
        assert len(frame["truth"]) == (row not in (8, 9))
    shares = zip(drive.table.p_place.values, drive.table.p_off_map.values, strict=True)
    assert [frame["told"] for frame in shown["frames"]] == [[f"{100 * p:.1f} %" for p in pair] for pair in shares]


def test_without_beliefs_a_page_has_none(run, drive):
    plain = replace(run, sequences=(replace(drive, trial=replace(drive.trial, beliefs=None)),))
    assert set(blocks(render_page([plain]))[0]) == {"frames", "cursor", "first"}


def test_the_matrix_is_of_the_descriptors_and_the_references_are_in_the_order_driven(run, match):
    assert (np.diff(run.memory.frames[match.references]) > 0).all()
    row, column = 7, 11
    descriptor = run.sequences[0].trial.recording.percepts[match.rows[row]].descriptor
    at = int(match.references[column])
    assert match.similarities[row, column] == pytest.approx(run.memory.similarities(descriptor)[at], abs=1e-6)
    assert match.positions[column].tolist() == run.memory.positions[at].tolist()


def test_our_match_is_the_first_candidate_and_the_nearest_reference_is_the_nearest(run, drive, match):
    first, known = drive.table.first, match.ours.known
    frames = run.memory.frames[match.references[match.ours.values[known]]]
    assert frames.tolist() == first.references.values[match.rows][known].tolist()
    for row, column in zip(match.nearest.rows, match.nearest.columns, strict=True):
        away = np.linalg.norm(match.positions - match.truth.values[row], axis=1)
        assert away[column] == away.min() <= 10.0


def test_the_curve_of_ours_is_that_of_the_evaluation(run, match):
    loops = run.errors.test["night"].loops
    assert best_decision(match.curves()["ours"]).f1 == pytest.approx(loops.best_f1)
    assert match.curves()["ours"].recall[-1] == pytest.approx(loops.recall_at["1"])


def test_local_matches_are_those_of_the_two_images(run, drive, match, street):
    find, image = KeypointFinder(), run.experiment.perception.image
    row = int(match.disagreements.shown[0].row)
    column = int(match.ours.values[row])
    number = int(run.memory.frames[match.references[column]])
    files = (
        street / f"data/{name}/images/{frame:02}.jpg" for name, frame in (("night", match.rows[row]), ("noon", number))
    )
    expected, found = (
        count_matches(*(find(read_image(file), image) for file in files)),
        match.match_points(row, column),
    )
    assert (found.mutual, found.agreeing.sum()) == (expected.mutual, expected.agreeing.sum())
    np.testing.assert_allclose(found.query, expected.query, atol=1e-3)
    told = f"{found.mutual} matches, {(found.agreeing & found.aligned).sum()} agree"
    assert told in render_matches(match)


def test_without_keypoints_the_pictures_have_no_lines(run, street_copy):
    folder = street_copy / "runs/street"
    (folder / "percepts/night.keypoints.npz").unlink()
    again = run.load(folder)
    shown = render_matches(Matching(again, again.sequences[0]))
    assert "<img" in shown
    assert 'class="line tie"' not in shown


def test_tokens_are_what_the_encoder_says_of_the_normalised_pictures(rng):
    torch = pytest.importorskip("torch")
    from tmapr.perception.network import assemble

    pictures = rng.integers(0, 256, size=(2, 224, 224), dtype=np.uint8)
    # A pose head that is gone does not matter.
    found = encode_tokens(Perception(apr="runs/gone/apr/000012/head.safetensors"), pictures)
    network, card = assemble(Perception())
    gray = np.repeat(pictures[:, None].astype(np.float32) / 255, 3, axis=1)
    mean, std = (np.array(values, dtype=np.float32)[:, None, None] for values in (card.input.mean, card.input.std))
    with torch.inference_mode():
        seen = network.encoder(torch.from_numpy((gray - mean) / std))
    assert found.grid == (seen.rows, seen.columns) == (14, 14)
    # Single precision, summed in another order.
    np.testing.assert_allclose(found.values, seen.tokens.numpy(), rtol=1e-3, atol=1e-3)
