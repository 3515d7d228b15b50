"""A road mapped in both directions: two reference traverses, one map, and every reference known by its traverse."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from commandline import command
from descriptor_field import CONDITIONS, DescriptorField
from filmed import film, seen_in
from made_up import record_percepts
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.bench.workload import revisit
from tmapr.config import load_settings
from tmapr.experiment import Experiment, load, read_experiment
from tmapr.reports.page.footage import Footage
from tmapr.reports.page.matching import Matching
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun
from tmapr.running.finished import FinishedRun
from tmapr.simulation.route import drive
from tmapr.system import Map, build, make_map
from tmapr.types import NANOSECONDS, Fault, Status

ROAD = """
name = "road"
perception.encoder = "own"
[data]
root = "{root}"
reference = ["there", "back"]
test = ["dusk"]
[places]
projection = {{ dimension = 64 }}
[tracking.gates]
min_similarity = 0.4
"""
ENDS = np.array([[0.0, 0.0], [160.0, 0.0]])
VIEWS = {"there": DescriptorField.from_seed(5), "back": DescriptorField.from_seed(6)}
"""A camera that looks the other way sees something else."""


def record(name, view, ends, condition, rng):
    return record_percepts(VIEWS[view], name, drive(ends, speed=8.0, rng=rng), CONDITIONS[condition], rng)


def join(name, first, second):
    """Two recordings as one, the second a minute after the first."""
    late = first.percepts[-1].stamp - second.percepts[0].stamp + 60 * NANOSECONDS
    later = tuple(replace(percept, stamp=percept.stamp + late) for percept in second.percepts)
    truth, known = np.concatenate([first.truth, second.truth]), np.concatenate([first.known, second.known])
    return Recording(name, first.percepts + later, truth, known)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The road's percepts, mapped and run by the commands; the test drives there and comes back at dusk."""
    home, rng = tmp_path_factory.mktemp("home"), np.random.default_rng(7)
    folder = RunFolder(home / "run")
    dusk = [record("dusk", view, ends, "dusk", rng) for view, ends in (("there", ENDS), ("back", ENDS[::-1]))]
    recordings = (record("there", "there", ENDS, "noon", rng), record("back", "back", ENDS[::-1], "noon", rng))
    for recording in (*recordings, join("dusk", *dusk)):
        recording.save(folder.percepts(recording.sequence))
    (home / "road.toml").write_text(ROAD.format(root=home / "data"))
    for verb in ("map", "run"):
        assert command(verb, home / "road.toml", "--run", folder.path, "--quiet") == 0
    return home


@pytest.fixture(scope="module")
def folder(home):
    return RunFolder(home / "run")


@pytest.fixture(scope="module")
def recordings(folder):
    return {name: Recording.load(folder.percepts(name)) for name in ("there", "back", "dusk")}


@pytest.fixture(scope="module")
def rows(folder):
    with folder.estimates("dusk").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def report(folder):
    return ReportedRun.load(folder.path)


def test_a_reference_is_the_frame_of_its_traverse_and_of_no_other(rows, recordings):
    found = [row for row in rows if row["reference"]]
    assert {row["reference_sequence"] for row in found} == {"there", "back"}
    for row in found:
        where = recordings[row["reference_sequence"]].truth[int(row["reference"])]
        assert where.tolist() == [float(row["ref_x"]), float(row["ref_y"])]


def test_the_sequence_is_told_where_a_reference_is_and_only_there(rows):
    assert [bool(row["reference"]) for row in rows] == [bool(row["reference_sequence"]) for row in rows]


def test_what_is_accepted_was_driven_in_the_same_direction(rows, recordings):
    outward = len(rows) // 2
    accepted = [(number, row) for number, row in enumerate(rows) if row["reason"] == "accepted"]
    right = [row["reference_sequence"] == ("there" if number < outward else "back") for number, row in accepted]
    assert len(accepted) > len(rows) / 2
    assert np.mean(right) > 0.95


def test_the_mapped_speed_is_that_of_both_drives_and_of_no_way_between_them(folder, recordings):
    speeds = []
    for name in ("there", "back"):
        usable = np.array([not percept.fault for percept in recordings[name].percepts])
        steps = np.hypot(*np.diff(recordings[name].truth[usable], axis=0).T)
        moved = steps > 0.1 * np.median(steps)
        speeds.extend((steps / (np.diff(recordings[name].stamps[usable]) / NANOSECONDS))[moved])
    speed = FinishedRun.load(folder).trial("dusk").mapped_speed
    assert speed == pytest.approx(np.percentile(speeds, 99))


def test_all_that_is_within_ten_metres_of_either_traverse_is_an_opportunity(folder, recordings):
    mapped = np.concatenate([recordings[name].truth for name in ("there", "back")])
    away = np.hypot(*(recordings["dusk"].truth[:, None] - mapped).transpose(2, 0, 1)).min(axis=1)
    assert command("evaluate", folder.path, "--quiet") == 0
    trial = FinishedRun.load(folder).trial("dusk")
    assert trial.queries.opportunity.tolist() == (away <= 10.0).tolist()
    assert json.loads(folder.errors.read_text())["test"]["dusk"]["loops"]["precision"] > 0.9


def test_a_program_gets_the_same_map_and_names(folder, recordings):
    localizer = load(folder.path)
    system = read_experiment(folder.experiment).system
    own = build(system, make_map(system, recordings["there"], recordings["back"]))
    for percept in recordings["dusk"].percepts[:5]:
        found = [each.recognise(percept).first for each in (localizer, own)]
        assert found[0].sequence == found[1].sequence == "there"
        assert found[0].reference == found[1].reference


def test_the_written_experiment_names_both_and_a_single_one_as_ever(folder, tmp_path):
    assert 'reference = ["there", "back"]' in folder.experiment.read_text()
    single, listed = (load_settings(Experiment, None, [f"data.reference={text}"]) for text in ('"there"', '["there"]'))
    assert single == listed
    assert single.data.reference == "there"


@pytest.fixture(scope="module")
def unposed(folder, recordings):
    """Estimates of the same drive without a pose head."""
    percepts = [replace(percept, position=None, heading=None) for percept in recordings["dusk"].percepts]
    localizer = load(folder.path)
    return [localizer.observe(percept) for percept in percepts]


def test_without_a_pose_head_the_estimate_heads_along_the_matched_traverse(unposed):
    headed = [estimate for estimate in unposed if estimate.heading is not None]
    assert len(headed) > len(unposed) / 2
    for estimate in headed:
        ahead = np.pi if estimate.candidate.sequence == "back" else 0.0
        # The drives wander by at most half a metre every fifteen: two degrees, and noise of none.
        assert abs(np.angle(np.exp(1j * (estimate.heading - ahead)))) < 0.05


def test_it_has_a_heading_where_a_reference_was_accepted_and_the_filter_is_localized_and_only_there(unposed):
    for estimate in unposed:
        sure = estimate.verdict.accepted and estimate.status is Status.LOCALIZED
        assert (estimate.heading is not None) == sure
    assert any(estimate.heading is None for estimate in unposed)


def test_with_a_pose_head_the_heading_is_its_own(rows, recordings):
    said = [percept.heading for percept in recordings["dusk"].percepts]
    assert [float(row["heading"]) if row["heading"] else None for row in rows] == said


def test_a_recorded_heading_is_the_routes_and_none_is_invented_beside_it(recordings):
    there = recordings["there"]
    system = load_settings(Experiment, None, ["places.projection.dimension=64"]).system
    recorded = np.where(np.arange(len(there)) % 2, 1.25, np.nan)
    memory = make_map(system, replace(there, headings=recorded)).memory
    np.testing.assert_array_equal(memory.headings, recorded[memory.frames])


def turning(recording, gain, rng):
    """The recording with headings that go to and fro, and the shifts that a camera of this gain would see."""
    headings = np.cumsum(rng.normal(0.0, 0.05, len(recording)))
    shifts = np.diff(headings, prepend=0.0) / gain
    percepts = [
        replace(percept, shift=shift) for percept, shift in zip(recording.percepts, shifts.tolist(), strict=True)
    ]
    return replace(recording, percepts=tuple(percepts), headings=headings)


@pytest.fixture
def system():
    return load_settings(Experiment, None, ["places.projection.dimension=64"]).system


def test_a_map_learns_from_all_its_traverses_what_a_shift_means_and_keeps_it(system, recordings, tmp_path, rng):
    made = make_map(system, *(turning(recordings[name], 0.9, rng) for name in ("there", "back")))
    assert made.memory.turn_gain == pytest.approx(0.9, rel=1e-12)
    made.save(tmp_path / "map.npz")
    read = Map.load(tmp_path / "map.npz", system)
    assert (read.memory.turn_gain, read.digest) == (made.memory.turn_gain, made.digest)


def test_a_frame_without_a_position_or_with_a_fault_teaches_nothing(system, recordings, rng):
    told = turning(recordings["there"], 0.9, rng)
    spoilt = [replace(percept, shift=0.4) if row % 7 == 3 else percept for row, percept in enumerate(told.percepts)]
    spoilt = [replace(each, fault=Fault.FROZEN) if row % 7 == 3 else each for row, each in enumerate(spoilt)]
    made = make_map(system, replace(told, percepts=tuple(spoilt)))
    assert made.memory.turn_gain == pytest.approx(0.9, rel=1e-12)


def test_without_shifts_a_map_knows_no_gain(system, recordings, tmp_path):
    made = make_map(system, recordings["there"])
    assert np.isnan(made.memory.turn_gain)
    made.save(tmp_path / "map.npz")
    assert np.isnan(Map.load(tmp_path / "map.npz", system).memory.turn_gain)


def test_a_made_up_stream_for_the_latency_never_goes_back_in_time(folder):
    memory = FinishedRun.load(folder).environment.memory
    stream = revisit(memory)
    stamps = [next(stream)[0].stamp for _ in range(2 * len(memory) + 5)]
    assert min(np.diff(stamps)) > 0


def test_each_traverse_is_drawn_as_a_line_of_its_own(report, recordings):
    for path, name in zip(report.references, ("back", "there"), strict=True):
        usable = [not percept.fault for percept in recordings[name].percepts]
        assert path.positions.tolist() == recordings[name].truth[usable].tolist()
        assert np.diff(path.seconds).min() > 0


def test_the_page_matches_a_query_with_the_column_of_its_own_traverse(report):
    match = Matching(report, report.sequences[0])
    known = match.ours.known
    cosines = match.similarities[np.arange(len(match.rows)), match.ours.values][known]
    first = report.sequences[0].table.first.similarities.values[match.rows][known]
    assert cosines == pytest.approx(first, abs=1e-6)


def test_the_page_shows_the_matched_frame_of_the_matched_traverse(home, folder, recordings, rows):
    # The images tell by their blocks what they are of, under the two names that blocks know.
    blocks = {"there": "noon", "back": "night"}
    for name, shown in blocks.items():
        film(home / "data" / name, shown, recordings[name].stamps)
    report = ReportedRun.load(folder.path)
    footage = Footage.of(report, report.sequences[0], 40)
    assert len(footage.matches.found) > 10
    for row, reference in footage.matched.items():
        matched = (blocks[rows[row]["reference_sequence"]], int(rows[row]["reference"]))
        assert seen_in(footage.matches.found[reference]) == matched
    page = render_page([report])
    assert any(
        f"match: frame {row['reference']} of back" in page for row in rows if row["reference_sequence"] == "back"
    )
