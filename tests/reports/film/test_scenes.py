"""What is drawn is what the run says, found again in the pixels."""

import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest
from scipy.stats import chi2

from filmed import counts_of, film, filmed_run, seen_in
from tmapr.artifacts.trajectory import Column
from tmapr.config import changed
from tmapr.perception.image import Image
from tmapr.reports.film.canvas import HEIGHT, WIDTH, Box
from tmapr.reports.film.colours import ALARM, AWAY, BELIEF, PANEL, STATUSES
from tmapr.reports.film.footage import Reel, Shelf
from tmapr.reports.film.layout import USUAL, Layout
from tmapr.reports.film.map_panel import MapPanel, choose_corner
from tmapr.reports.film.marks import trace_ellipse
from tmapr.reports.film.moments import Story
from tmapr.reports.film.panels import caption_match, format_clock, list_facts
from tmapr.reports.film.scenes import Scene
from tmapr.reports.reported import ReportedRun
from tmapr.types import Reason, Status

LAYOUT = Layout.of(USUAL)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return ReportedRun.load(filmed_run(tmp_path_factory.mktemp("home")).path)


def drawn(run, rows, folder, width=WIDTH):
    """The film's frames of some rows."""
    story = Story(run, run.sequences[0])
    matched = [match.row for match in map(story.find_match, rows) if match]
    with Shelf(folder) as shelf:
        for _ in shelf.lay(run, matched):
            pass
        scene = Scene(story, LAYOUT, width, Reel(run, run.sequences[0], rows), shelf)
        return {row: scene.draw(row) for row in rows}


def part(pixels, box):
    scale = pixels.shape[1] / WIDTH
    left, top, right, bottom = (round(edge * scale) for edge in (box.left, box.top, box.right, box.bottom))
    return pixels[top:bottom, left:right]


def bright(pixels):
    return pixels.max(axis=-1)


def status_of(run, wanted):
    statuses = run.sequences[0].table.statuses
    return [row for row, status in enumerate(statuses) if status is wanted]


def test_the_pictures_are_those_of_the_frame_and_of_its_match(run, tmp_path):
    table = run.sequences[0].table
    rows = [row for row in range(0, len(table.stamps), 9) if table.references.known[row]]
    for row, pixels in drawn(run, rows, tmp_path).items():
        assert seen_in(bright(part(pixels, LAYOUT.query))) == ("night", row)
        assert seen_in(bright(part(pixels, LAYOUT.match))) == ("noon", int(table.references.values[row]))


def test_a_picture_is_the_prepared_image_in_inferno(run, tmp_path):
    row = 5
    panel = part(drawn(run, [row], tmp_path)[row], LAYOUT.query)
    prepared = Image().prepare(counts_of("night", row), (64, 80)) / 255
    levels = np.round(255 * prepared**1.8).astype(np.uint8)
    expected = cv2.resize(cv2.applyColorMap(levels, cv2.COLORMAP_INFERNO), panel.shape[1::-1])
    middles = np.ix_((np.arange(3) * 2 + 1) * panel.shape[0] // 8, (np.arange(5) * 2 + 1) * panel.shape[1] // 10)
    np.testing.assert_allclose(panel[middles].astype(int), expected[middles].astype(int), atol=6)


def test_a_match_that_was_not_believed_is_gray(run, tmp_path):
    table = run.sequences[0].table
    refused = [r for r in range(len(table.stamps)) if table.references.known[r] and table.reasons[r] is Reason.OFF_MAP]
    row = refused[len(refused) // 2]
    shown = part(drawn(run, [row], tmp_path)[row], LAYOUT.match)[:200].astype(int)
    assert (shown.max(axis=-1) - shown.min(axis=-1)).max() < 12
    assert caption_match(Story(run, run.sequences[0]).tell(row).match) == ("no match", "not believed")


@pytest.mark.parametrize("width", [WIDTH, 640])
def test_the_estimate_is_where_the_run_says_in_the_colour_of_its_status(run, tmp_path, width):
    sequence = run.sequences[0]
    panel = MapPanel(Story(run, sequence), LAYOUT.map, width / WIDTH)
    seen = set()
    rows = [status_of(run, status)[-1] for status in dict.fromkeys(sequence.table.statuses)]
    for row, pixels in drawn(run, sorted(rows), tmp_path, width).items():
        x, y = panel.view(sequence.fused.values[row][None])[0] * width / WIDTH
        aside = 5.5 * width / WIDTH
        colours = [
            pixels[round(y + dy), round(x + dx)] for dx, dy in ((aside, 0), (-aside, 0), (0, aside), (0, -aside))
        ]
        status = sequence.table.statuses[row]
        # Half a pixel to either side: at 640 the edge of the dot begins there.
        assert min(np.abs(np.array(colours, int) - STATUSES[status]).max(axis=1)) <= (8 if width == WIDTH else 60)
        seen.add(status)
    assert Status.LOCALIZED in seen
    assert len(seen) > 1


def test_metres_are_as_long_in_both_directions_and_the_map_fits_its_box(run):
    view = MapPanel(Story(run, run.sequences[0]), LAYOUT.map, 1.0).view
    a, b, c = view(np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]]))
    assert b[0] - a[0] == pytest.approx(a[1] - c[1])
    points = view(run.memory.positions)
    assert (points >= [LAYOUT.map.left, LAYOUT.map.top]).all()
    assert (points <= [LAYOUT.map.right, LAYOUT.map.bottom]).all()


def test_the_lens_hides_nothing_that_was_mapped(run):
    view = MapPanel(Story(run, run.sequences[0]), LAYOUT.map, 1.0).view
    corner = choose_corner(
        Box(LAYOUT.map.left, LAYOUT.map.top, LAYOUT.map.width, LAYOUT.map.height - 34), view(run.memory.positions)
    )
    points = view(run.memory.positions)
    inside = (points >= [corner.left, corner.top]) & (points <= [corner.right, corner.bottom])
    assert not inside.all(axis=1).any()


def test_the_ellipse_holds_95_percent(rng):
    root = rng.normal(size=(2, 2))
    covariance, center = root @ root.T + 0.1 * np.eye(2), np.array([300.0, -20.0])
    away = trace_ellipse(center, covariance) - center
    distances = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
    np.testing.assert_allclose(distances, chi2.ppf(0.95, 2))


def test_the_strip_has_bars_where_the_belief_is_and_of_its_height(run, tmp_path):
    sequence = run.sequences[0]
    row = status_of(run, Status.LOCALIZED)[-1]
    strip = part(drawn(run, [row], tmp_path)[row], LAYOUT.belief)
    green = np.abs(strip.astype(int) - BELIEF).max(axis=-1) < 10
    references, masses = sequence.trial.beliefs.after(row)
    tallest = int(green.sum(axis=0).max())
    span = LAYOUT.belief.height - 12 - 34
    # Bars of neighbours lie side by side, or over one another.
    assert tallest == pytest.approx(span * np.sqrt(masses.max()), abs=1.5)
    memory = run.memory
    driven = np.hypot(*np.diff(memory.positions[memory.order], axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(driven)])[np.argsort(memory.order)]
    left, wide = 14.0, LAYOUT.belief.width - 132 - 14
    expected = left + along[references[masses.argmax()]] / along.max() * wide
    columns = np.flatnonzero(green.sum(axis=0) == tallest)
    assert columns.min() - 2 <= expected <= columns.max() + 2


def test_the_share_off_the_map_is_a_bar_of_its_own(run, tmp_path):
    shares = run.sequences[0].table.p_off_map
    row = int(np.nanargmax(shares.values))
    strip = part(drawn(run, [row], tmp_path)[row], LAYOUT.belief)
    orange = np.abs(strip.astype(int) - AWAY).max(axis=-1) < 10
    height = (LAYOUT.belief.height - 12 - 34) * np.sqrt(shares.values[row])
    assert orange.sum(axis=0).max() == pytest.approx(height, abs=1.5)


def test_the_way_driven_grows_with_every_frame(run, tmp_path):
    blue = STATUSES[Status.LOCALIZED]
    rows = status_of(run, Status.LOCALIZED)
    ends = [rows[5], rows[len(rows) // 2], rows[-1]]
    counts = [
        int((np.abs(part(pixels, LAYOUT.map).astype(int) - blue).max(axis=-1) < 10).sum())
        for pixels in drawn(run, ends, tmp_path).values()
    ]
    assert counts[0] < 0.7 * counts[1] < 0.7 * counts[2]


def test_numbers_are_those_of_the_run(run):
    sequence, story = run.sequences[0], Story(run, run.sequences[0])
    row = 12
    told = {fact.label: fact.value for fact in list_facts(story.tell(row))}
    error = np.hypot(*(sequence.fused.values[row] - sequence.truth.values[row]))
    radius = np.sqrt(chi2.ppf(0.95, 2) * np.linalg.eigvalsh(sequence.table.covariances[row])[-1])
    assert told["true error"] == f"{error:.1f} m"
    assert told["95 % radius"] == f"{radius:.1f} m"
    assert told["speed"] == f"{np.hypot(*sequence.table.velocities[row]):.1f} m/s"
    assert told["off the map"] == f"{100 * sequence.table.p_off_map.values[row]:.0f} %"


def test_where_nobody_knows_the_truth_nothing_is_said_of_it(run, tmp_path):
    sequence = run.sequences[0]
    recording = sequence.trial.recording
    blind = replace(recording, truth=np.full_like(recording.truth, np.nan), known=np.zeros(len(recording), bool))
    unknown = replace(sequence, figures=None, trial=replace(sequence.trial, recording=blind))
    story = Story(replace(run, sequences=(unknown,)), unknown)
    moment = story.tell(12)
    assert (moment.truth, moment.error) == (None, None)
    assert "true error" not in {fact.label for fact in list_facts(moment)}
    assert caption_match(moment.match)[1].startswith("similarity")
    assert drawn(replace(run, sequences=(unknown,)), [12], tmp_path)[12].shape == (HEIGHT, WIDTH, 3)


def test_without_images_the_panels_say_so_and_the_rest_is_drawn(run, tmp_path):
    away = replace(run, experiment=changed(run.experiment, {"data.root": str(tmp_path / "nowhere")}))
    there, here = drawn(run, [12], tmp_path)[12], drawn(away, [12], tmp_path)[12]
    np.testing.assert_array_equal(part(here, LAYOUT.map), part(there, LAYOUT.map))
    shown = part(here, LAYOUT.query)
    assert (shown[5, 5] == PANEL).all()
    assert len(np.unique(shown[:-40].reshape(-1, 3), axis=0)) > 10  # words
    reel = Reel(away, away.sequences[0], [12])
    assert reel.absent == f"images of night are not at {tmp_path / 'nowhere'}"


def test_images_of_another_recording_are_not_shown(run, tmp_path):
    shutil.copytree(run.experiment.data.root, tmp_path / "data")
    film(tmp_path / "data/night", "night", run.sequences[0].table.stamps + 1)
    other = replace(run, experiment=changed(run.experiment, {"data.root": str(tmp_path / "data")}))
    reel = Reel(other, other.sequences[0], [12])
    assert reel.wind(12) is None
    assert reel.absent == f"images of night at {tmp_path / 'data'} are of another recording"


def test_a_damaged_image_is_missing_and_the_next_one_is_not(run, tmp_path):
    shutil.copytree(run.experiment.data.root, tmp_path / "data")
    (tmp_path / "data/night/000012.png").write_bytes(b"damaged")
    other = replace(run, experiment=changed(run.experiment, {"data.root": str(tmp_path / "data")}))
    reel = Reel(other, other.sequences[0], [11, 12, 13])
    assert [reel.wind(row) is not None for row in (11, 12, 13)] == [True, False, True]


def test_a_run_without_belief_has_a_map_and_no_strip(run, tmp_path):
    sequence = run.sequences[0]
    table = replace(
        sequence.table,
        p_off_map=Column(np.full(len(sequence.table.stamps), np.nan), np.zeros(len(sequence.table.stamps), bool)),
    )
    plain = replace(sequence, trial=replace(sequence.trial, table=table, beliefs=None))
    pixels = drawn(replace(run, sequences=(plain,)), [12], tmp_path)[12]
    assert len(np.unique(part(pixels, LAYOUT.belief).reshape(-1, 3), axis=0)) == 1
    assert "off the map" not in {fact.label for fact in list_facts(Story(run, plain).tell(12))}


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "0:00"), (59.9, "0:59"), (61.0, "1:01"), (3725.0, "1:02:05")])
def test_the_clock(seconds, told):
    assert format_clock(seconds) == told


@pytest.mark.parametrize("shape", [(256, 320), (4, 5), (200, 640), (480, 480)])
def test_pictures_keep_their_proportions_and_parts_do_not_overlap(shape):
    layout = Layout.of(shape)
    assert layout.query.width / layout.query.height == pytest.approx(shape[1] / shape[0])
    boxes = [layout.query, layout.match, layout.header, layout.map, layout.belief, layout.timeline]
    for number, a in enumerate(boxes):
        assert 0 <= a.left < a.right <= WIDTH
        assert 0 <= a.top < a.bottom <= HEIGHT
        for b in boxes[number + 1 :]:
            assert a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top


def test_a_claim_that_is_wrong_is_called_wrong_where_that_is_known(run):
    sequence = run.sequences[0]
    row = status_of(run, Status.LOCALIZED)[-1]
    assert not Story(run, sequence).tell(row).wrong
    away = replace(sequence, fused=Column(sequence.fused.values + 50.0, sequence.fused.known))
    moment = Story(run, away).tell(row)
    assert moment.wrong
    assert next(fact for fact in list_facts(moment) if fact.label == "true error").colour == ALARM
    lost = status_of(run, Status.LOST)[0]
    assert not Story(run, away).tell(lost).wrong
