"""The explorer: which frames it offers, what it says of them, and that its data cannot become markup."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from drives import FRAMES, TRACE, everywhere, retold, sequence
from filmed import decoded, filmed_run, seen_in
from tmapr.artifacts.trajectory import Column
from tmapr.config import changed
from tmapr.reports.figures.error_curve import ErrorAxes
from tmapr.reports.figures.trajectory_map import MapAxes
from tmapr.reports.page.card import REASONS, write_cards
from tmapr.reports.page.document import render_data
from tmapr.reports.page.explorer import render_explorer
from tmapr.reports.page.footage import MOST_PICTURES, Album, Footage, choose_rows, share_frames
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun
from tmapr.types import Reason


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return ReportedRun.load(filmed_run(tmp_path_factory.mktemp("home")).path)


def shown(markup):
    """The frames in the explorer's block of data."""
    (block,) = re.findall(r'<script type="application/json">(.*?)</script>', markup)
    return json.loads(block)["frames"]


def number_in(title):
    return int(re.search(r"frame (\d+)", title).group(1))


def told(drive, row):
    (card,) = write_cards(drive, [row])
    return card.facts


def explored(run, drive, album, frames):
    return render_explorer(run, drive, album, Footage.of(run, drive, frames))


def nowhere(run, tmp_path):
    return replace(run, experiment=changed(run.experiment, {"data.root": str(tmp_path / "nowhere")}))


def test_every_reason_is_explained():
    assert set(REASONS) == set(Reason)
    assert len(set(REASONS.values())) == len(Reason)


def test_a_card_tells_the_numbers_of_its_frame():
    assert told(sequence(), 4) == {
        "status": "localized",
        "error": "1.00 m",
        "stated uncertainty": "± 2.00 m",
        "error of the pose head": "10.00 m",
        "error of the match": "0.00 m",
        "similarity": "0.800",
        "score": "9.500",
        "margin": "2.500",
        "support": "0.750",
        "leverage": "0.040",
        "confidence": "0.700",
        "innovation": "3.25 m",
        "time": "4.00 s",
        "stamp, ns": "4000000000",
    }


def test_what_is_not_known_is_a_dash():
    unknown = told(sequence(truth=Column(TRACE, np.arange(FRAMES) != 35)), 35)
    assert [unknown[name] for name in ("error", "error of the match", "confidence", "innovation")] == ["–"] * 4


def test_what_is_known_of_no_frame_is_left_out():
    none = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))
    assert set(told(sequence(), 4)) - set(told(sequence(truth=none), 4)) == {
        "error",
        "error of the pose head",
        "error of the match",
    }


def test_a_margin_without_a_rival_is_infinite_and_a_negative_score_has_a_minus():
    drive = sequence(margins=everywhere(np.full(FRAMES, np.inf)), scores=everywhere(np.full(FRAMES, -1.25)))
    assert (told(drive, 0)["margin"], told(drive, 0)["score"]) == ("∞", "−1.250")


def test_the_verdict_says_the_reason_in_words_and_warns_of_a_wrong_match():
    right, wrong, refused = write_cards(sequence(reasons=(Reason.ACCEPTED,) * 39 + (Reason.JUMPS,)), [3, 35, 39])
    assert right.verdict == "accepted: the match was believed and corrected the filter"
    assert wrong.verdict.startswith(right.verdict)
    assert "WRONG" in wrong.verdict
    assert refused.verdict.startswith("jumps: the match is farther")
    assert "WRONG" not in refused.verdict


def test_frames_are_spread_evenly_over_the_sequence():
    rows = choose_rows(np.zeros(1000, dtype=bool), 101)
    assert (rows[0], rows[-1], len(rows)) == (0, 999, 101)
    assert set(np.diff(rows).tolist()) <= {9, 10, 11}


def test_a_short_sequence_is_shown_whole():
    assert choose_rows(np.zeros(7, dtype=bool), 100).tolist() == list(range(7))


def test_wrong_matches_come_first_but_leave_no_stretch_without_a_frame():
    wrong = np.zeros(1000, dtype=bool)
    wrong[[3, 501, 777]] = True
    few = choose_rows(wrong, 100)
    assert {3, 501, 777} <= set(few.tolist())
    assert len(few) == len(set(few.tolist())) == 100
    wrong[200:800] = True
    many = choose_rows(wrong, 100)
    assert len(many) == 100
    assert (~wrong[many]).sum() >= 20
    assert np.diff(many).max() < 25


@pytest.mark.parametrize("sequences", [1, 3, 7, 300])
def test_a_page_holds_no_more_pictures_than_it_may(sequences):
    assert 2 * sequences * share_frames(sequences) <= MOST_PICTURES


def test_a_frame_is_shown_with_its_own_picture_and_that_of_its_match(run):
    album = Album()
    frames = shown(explored(run, run.sequences[0], album, 40))
    assert len(frames) == 40
    for frame in frames:
        row = number_in(frame["title"])
        assert seen_in(decoded(album.uris[frame["picture"]])) == ("night", row)
        if not run.sequences[0].table.references.known[row]:
            assert (frame["match_title"], frame["match_picture"]) == ("no match", None)
            continue
        matched = int(run.sequences[0].table.references.values[row])
        assert frame["match_title"] == f"match: frame {matched} of noon"
        assert seen_in(decoded(album.uris[frame["match_picture"]])) == ("noon", matched)


def test_a_frame_lies_where_the_drawings_have_it(run):
    drive = run.sequences[0]
    view, axis = MapAxes.of(drive, run.references), ErrorAxes.of(drive)
    for frame in shown(explored(run, drive, Album(), 9)):
        row = number_in(frame["title"])
        places = {"fused": drive.fused, "truth": drive.truth, "match": drive.table.reference_positions}
        for name, column in places.items():
            assert (frame[name] is not None) == column.known[row]
            assert frame[name] is None or frame[name] == pytest.approx(view(column.values[[row]])[0].tolist(), abs=0.06)
        error = np.linalg.norm(drive.fused.values[row] - drive.truth.values[row])
        at = axis(drive.seconds[[row]], np.array([error]))[0]
        assert (frame["moment"], frame["error"]) == pytest.approx(tuple(at.tolist()), abs=0.06)


def test_what_is_not_known_of_a_frame_is_null(run):
    drive = run.sequences[0]
    nothing = np.zeros(len(drive.table.stamps), dtype=bool)
    known = nothing.copy()
    known[0] = True
    blank = retold(
        drive,
        references=Column(drive.table.references.values, nothing),
        reference_positions=Column(np.full_like(drive.table.reference_positions.values, np.nan), nothing),
    )
    blank = replace(blank, trial=replace(blank.trial, recording=replace(blank.trial.recording, known=known)))
    frame = shown(explored(run, blank, Album(), 5))[-1]
    assert [frame[key] for key in ("truth", "match", "error", "match_picture")] == [None] * 4
    assert frame["match_title"] == "no match"
    assert frame["picture"] is not None


def test_sampled_frames_are_numbered_as_on_the_map(run):
    root = ElementTree.fromstring(f"<div>{explored(run, run.sequences[0], Album(), 100)}</div>")
    entries = root.findall(".//ol/li")
    rows = [seen_in(decoded(entry.find("img").get("src")))[1] for entry in entries]
    assert rows == Footage.of(run, run.sequences[0], 100).samples
    assert len(rows) == 8
    assert np.diff(rows).min() > 0
    numbers = [text.text for text in root.iter() if text.get("class") == "number"]
    assert numbers == [entry.find("b").text for entry in entries] == [str(number) for number in range(1, 9)]


def test_without_images_the_page_says_which_are_missing_and_where(run, tmp_path):
    root = ElementTree.fromstring(f"<div>{explored(nowhere(run, tmp_path), run.sequences[0], Album(), 20)}</div>")
    notes = [note.text for note in root.findall("p[@class='note']")]
    assert notes == [f"images of {name} are not at {tmp_path / 'nowhere'}" for name in ("night", "noon")]
    assert root.find(".//ol") is None
    assert not [text for text in root.iter() if text.get("class") == "number"]


def test_the_pictures_of_a_page_stay_within_the_limit_and_are_kept_once(run):
    text = render_page([run, replace(run, experiment=changed(run.experiment, {"name": "other"}))])
    (block,) = re.findall(r'<script type="application/json" id="pictures">(.*?)</script>', text)
    uris = json.loads(block)
    assert 100 < len(uris) == len(set(uris)) <= 300


def test_data_cannot_end_its_element_or_begin_another():
    content = {"</script><!-- & ]]>": ["<b>", "\x1b\ud800 ü"]}
    block = render_data(content)
    inside = block.removeprefix('<script type="application/json">').removesuffix("</script>")
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == content
    assert json.loads(ElementTree.fromstring(block).text) == content


def test_three_sequences_of_six_hundred_frames_make_less_than_six_megabytes(run, rng):
    """A picture of 160×128 with the detail of a street takes about 3 kB; all 600 are counted."""
    scene = cv2.GaussianBlur(rng.uniform(0, 255, (128, 160)), (0, 0), 2)
    picture = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)
    album = Album()
    album.add(picture)
    frames = explored(run, run.sequences[0], Album(), share_frames(3))
    figures = len(re.sub('data:image[^"]*', "", frames))
    assert MOST_PICTURES * len(album.uris[0]) + 3 * (figures + 50_000) < 6_000_000
