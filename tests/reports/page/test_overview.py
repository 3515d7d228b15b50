"""Several runs: which share a map, and what is drawn of each."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from made_up import run_block, write_block
from tmapr.config import changed
from tmapr.reports.figures.runs_map import NamedRun, draw_runs, list_run_keys
from tmapr.reports.figures.trajectory_map import MapAxes
from tmapr.reports.page.overview import group_runs, render_overview, share_ground
from tmapr.reports.reported import ReportedRun
from tmapr.types import CoordinateFrame


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    return ReportedRun.load(run_block(home).path)


def renamed(run, name):
    return replace(run, experiment=changed(run.experiment, {"name": name}))


def rooted(run, root):
    return replace(run, experiment=changed(run.experiment, {"data.root": root}))


def moved(run, metres):
    return replace(run, memory=replace(run.memory, positions=run.memory.positions + metres))


def framed(run, **frame):
    return replace(run, errors=run.errors.model_copy(update={"frame": CoordinateFrame(**frame)}))


def blinded(run):
    (drive,) = run.sequences
    recording = replace(drive.trial.recording, known=np.zeros(len(drive.table.stamps), dtype=bool))
    blind = replace(drive, figures=None, trial=replace(drive.trial, recording=recording))
    return replace(run, sequences=(blind,), errors=run.errors.model_copy(update={"test": {}}))


def numbered(*runs):
    return [NamedRun(f"run {number}", number, run) for number, run in enumerate(runs)]


def parsed(markup):
    return ElementTree.fromstring(f"<div>{markup}</div>")


def test_runs_on_one_recording_share_a_map(run):
    assert share_ground(run, renamed(run, "other"))
    assert share_ground(run, moved(run, 20.0))


def test_local_coordinates_of_other_data_are_of_the_same_place_only_if_the_references_are(run):
    assert share_ground(run, rooted(run, "elsewhere"))
    assert not share_ground(run, rooted(moved(run, 25.0), "elsewhere"))


def test_other_frames_and_far_places_have_maps_of_their_own(run):
    here = framed(run, kind="utm", zone="52N")
    assert not share_ground(run, here)
    assert not share_ground(here, framed(run, kind="utm", zone="51N"))
    assert share_ground(here, rooted(moved(here, 60.0), "elsewhere"))
    assert not share_ground(here, moved(here, 5000.0))


def test_groups_keep_the_order_and_hold_every_run_once(run):
    runs = numbered(run, moved(run, 5000.0), renamed(run, "third"), moved(run, 5010.0))
    assert [[each.number for each in group] for group in group_runs(runs)] == [[0, 2], [1, 3]]


def test_each_group_has_its_map_and_each_run_a_key_in_one(run):
    page = parsed(render_overview([run, moved(run, 5000.0), renamed(run, "third")], ["a", "b", "c"]))
    keys = [
        [key.itertext() for key in figure.iter("button") if key.get("data-switch")] for figure in page.iter("figure")
    ]
    assert [["".join(key) for key in figure][2:] for figure in keys] == [["a", "c"], ["b"]]


def test_a_track_is_drawn_where_the_run_has_it_in_the_colour_of_its_key(run):
    runs = numbered(run, renamed(run, "other"))
    svg = ElementTree.fromstring(draw_runs(runs, ("x", "y")))
    layers = {part.get("data-layer"): part for part in svg.iter() if part.get("data-layer")}
    keys = list_run_keys(runs)
    assert [key.words for key in keys] == ["mapped route", "truth", "run 0", "run 1"]
    assert {key.role for key in keys} == set(layers)
    (drive,) = run.sequences
    references = [path.positions for path in run.references]
    view = MapAxes.around(np.vstack([*references, drive.truth.values]), drive.fused.values)
    for key in keys[2:]:
        parts = [path.get("d") for path in layers[key.role]]
        starts = np.array([[float(x), float(y)] for part in parts for x, y in re.findall(r"M(\S+) ([^lh]+)", part)])
        away = np.abs(starts[:, None] - view(drive.fused.values)).max(axis=2).min(axis=1)
        assert away.max() <= 0.06


def test_what_runs_share_is_drawn_once(run):
    svg = ElementTree.fromstring(draw_runs(numbered(run, renamed(run, "other")), ("x", "y")))
    drawn = [path.get("class") for path in svg.iter() if path.get("class") in ("line reference", "line truth")]
    assert drawn == ["line reference", "line truth"]


def test_without_truth_no_key_names_it_and_the_row_has_dashes(run):
    blind = blinded(run)
    assert [key.words for key in list_run_keys(numbered(blind))] == ["mapped route", "run 0"]
    page = parsed(render_overview([run, blind], ["told", "blind"]))
    told, unknown = page.findall(".//tbody/tr")
    assert [cell.text for cell in unknown].count("–") == 9
    share = 100 * blind.sequences[0].trial.localized.mean()
    assert f"{share:.1f}" in [cell.text for cell in unknown]
    assert [cell.text for cell in told].count("–") == 0


def test_more_runs_than_colours_are_told_apart_by_their_layers(run):
    roles = [each.role for each in numbered(*[run] * 8)]
    assert len(set(roles)) == 8
    assert len({role.split()[1] for role in roles}) == 6
