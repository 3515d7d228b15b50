"""Rendered worlds as training data: what is driven, how it is numbered, and which worlds are never trained on."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tmapr.perception.card import IMAGENET, Input
from tmapr.perception.encoder import Features
from tmapr.perception.image import Image
from tmapr.perception.network import Network
from tmapr.perception.pooling import GridPooling, Joined
from tmapr.perception.recipes import Disguise
from tmapr.simulation.camera import Camera
from tmapr.simulation.record import Plan, film
from tmapr.simulation.streets import FAMILIES
from tmapr.simulation.traverse import Traverse, prepare_passage
from tmapr.simulation.weather import find_weather
from tmapr.training.metric import Traverses, TraversesInMemory
from tmapr.training.rendered import Drive, Site, draw_sites, encode_in_disguise
from tmapr.training.shipped import (
    ASKED,
    MAPPED,
    TRAINING,
    TUNING,
    WEATHERS,
    build_encoder,
    make_training_sites,
    make_tuning_sites,
    measure_recall,
)
from tmapr.types import CoordinateFrame

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CAMERA = Camera(width=48, height=40, focal=30.0)
LOWER = Camera(width=48, height=40, focal=35.0, mount=0.8)
SIZE = (40, 48)  # the camera's own: no picture is resized
NOON, NIGHT = Traverse("noon", find_weather("noon"), 7, frames=3), Traverse("night", find_weather("night"), 8, frames=3)
SITES = [
    Site("campus", 41, 0, 0.3, (Drive(NOON, CAMERA), Drive(NIGHT, CAMERA))),
    Site("campus", 42, 4, 0.0, (Drive(NIGHT, LOWER),)),
]
JOBS = [(site, drive) for site in SITES for drive in site.drives]
GRID = (2, 4)


def as_pixels(pictures):
    """An encoder whose tokens are the rows of a picture."""
    tokens = pictures.float()
    return Features(tokens, tokens.mean(dim=1), SIZE[0], 1)


@pytest.fixture(scope="module")
def drawn():
    """Processes are started for it, so once."""
    return draw_sites(SITES, SIZE, "cpu")


@pytest.fixture(scope="module")
def driven(drawn):
    return drawn.encode(as_pixels)


def plan_of(site):
    """The same world as a data set's plan has it."""
    asked = {"family": site.family, "seed": site.seed, "aliasing": site.aliasing, "style": site.style}
    return Plan.model_validate({"layout": "folder"} | asked).fit_style(site.drives[0].traverse.frames)


def test_positions_and_headings_are_those_of_the_traverses(drawn):
    passages = [prepare_passage(plan_of(site).build_world(), drive.traverse, drive.camera) for site, drive in JOBS]
    np.testing.assert_array_equal(drawn.positions, np.concatenate([passage.positions for passage in passages]))
    np.testing.assert_array_equal(drawn.headings, [view.heading for passage in passages for view in passage.views])


def test_sites_and_traverses_are_numbered_in_their_order(driven):
    assert driven.traverses.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert driven.sites.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]


def test_each_picture_is_the_one_that_is_seen_there_at_run_time(drawn):
    """In a style of its own, with all that moves, and by a camera of its own."""
    prepare = Image().prepare
    seen = [
        prepare(frame.image(), SIZE).ravel()
        for site, drive in JOBS
        for frame in film(
            plan_of(site).build_world(), drive.traverse, drive.camera, plan_of(site).make_texture(), CoordinateFrame()
        )
    ]
    count = len(seen)
    alike = np.corrcoef(np.concatenate([drawn.pictures.reshape(count, -1), seen]))[:count, count:]
    # Two renderers, whose float32 differs in the last bits; with another world's texture the least is 0.991.
    assert alike.diagonal().min() > 0.9999


def test_a_drive_of_another_spectrum_shows_the_same_places_in_other_tones(drawn):
    site = SITES[0]
    other = replace(site, drives=(replace(site.drives[0], spectrum=3), site.drives[1]))
    painted = draw_sites([other], SIZE, "cpu")
    np.testing.assert_array_equal(painted.positions, drawn.positions[:6])
    np.testing.assert_array_equal(painted.pictures[3:], drawn.pictures[3:6])
    pairs = zip(painted.pictures[:3], drawn.pictures[:3], strict=True)
    assert max(np.corrcoef(one.ravel(), two.ravel())[0, 1] for one, two in pairs) < 0.9


def test_a_share_of_the_frames_is_seen_in_disguise_and_every_frame_keeps_its_row(drawn):
    settings = Disguise(share=0.5, copies=2, inverted=1.0)
    frames = encode_in_disguise(drawn, as_pixels, settings, 0, "cpu")
    rows = np.random.default_rng(1).integers(0, len(drawn.positions), 400)
    seen = frames.features(rows)
    plain = torch.from_numpy(drawn.pictures[rows]).float()
    inverted = (seen.tokens == 255 - plain).flatten(1).all(dim=1)
    assert (inverted | (seen.tokens == plain).flatten(1).all(dim=1)).all()
    assert 150 < int(inverted.sum()) < 250
    torch.testing.assert_close(seen.summary, seen.tokens.mean(dim=1), atol=0.1, rtol=0)


def test_disguised_traverses_are_traverses(drawn):
    frames = encode_in_disguise(drawn, as_pixels, Disguise(share=0.5), 0, "cpu")
    assert isinstance(frames, Traverses)
    np.testing.assert_array_equal(frames.sites, drawn.sites)


def test_features_are_kept_in_half_precision_on_the_encoder_s_grid(driven):
    assert driven.tokens.dtype == driven.summaries.dtype == torch.float16
    assert driven.tokens.shape == (9, *SIZE)
    assert driven.grid == (SIZE[0], 1)


def test_training_tuning_choosing_and_reporting_share_no_world(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = importlib.import_module("descriptor")
    ranges = [TRAINING, TUNING, benchmark.CHOOSING, benchmark.REPORTED]
    assert len(set().union(*ranges)) == sum(map(len, ranges))


def test_no_traverse_of_the_report_has_a_seed_of_training_or_of_another_world(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = importlib.import_module("descriptor")
    worlds, laps = [*benchmark.REPORTED, *benchmark.CHOOSING], range(1 + len(ASKED))
    reported = {benchmark.traverse_seed(world, lap) for world in worlds for lap in laps}
    known = {drive.traverse.seed for site in make_training_sites() + make_tuning_sites() for drive in site.drives}
    assert len(reported) == len(worlds) * len(laps)
    assert not reported & known


def test_training_has_every_family_and_seed_once_in_weathers_of_its_own():
    sites = make_training_sites()
    assert {(site.family, site.seed) for site in sites} == {(family, seed) for family in FAMILIES for seed in TRAINING}
    weathers = {drive.traverse.weather for site in sites if site.family == "city" for drive in site.drives}
    assert len(weathers) == sum(len(site.drives) for site in sites) / len(FAMILIES)


def test_styles_are_even_and_none_is_one_for_choosing(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    choosing = {ground.style for ground in importlib.import_module("proving").CHOOSING}
    trained, tuned = ({site.style for site in make()} for make in (make_training_sites, make_tuning_sites))
    assert all(style % 2 == 0 for style in trained | tuned)
    assert not (trained | tuned) & choosing
    assert trained & tuned <= {0}


def test_one_drive_of_a_training_site_is_of_another_spectrum():
    for site in make_training_sites():
        assert [drive.spectrum is None for drive in site.drives] == [True] * WEATHERS + [False]


def test_training_is_the_same_every_time():
    assert make_training_sites() == make_training_sites()


def test_tuning_maps_at_noon_and_asks_in_other_weathers():
    for site in make_tuning_sites():
        assert [drive.traverse.name for drive in site.drives] == [MAPPED, *ASKED]


def tuning_frames(lost):
    """Ten places 20 m apart on every tuning site, each with a channel of its own; `lost` families mistake them."""
    places, laps, homes = 10, 1 + len(ASKED), len(TUNING) * len(FAMILIES)
    traverses = np.repeat(np.arange(homes * laps), places)
    sites, place = traverses // laps, np.tile(np.arange(places), homes * laps)
    mistaken = (traverses % laps > 0) & np.isin(sites % len(FAMILIES), [FAMILIES.index(family) for family in lost])
    shown = torch.from_numpy(np.eye(places)[np.where(mistaken, (place + 1) % places, place)])
    tokens = shown[:, None].expand(-1, GRID[0] * GRID[1], -1)
    positions = np.column_stack([20.0 * place, np.zeros(len(place))])
    return TraversesInMemory(tokens, shown, GRID, positions, np.zeros(len(place)), traverses, sites)


@pytest.mark.parametrize("lost", [(), ("city",), ("campus", "valley")])
def test_recall_is_told_for_each_family(lost):
    found = measure_recall(tuning_frames(lost), Joined([GridPooling(10)], [1.0]))
    assert found == {family: 0.0 if family in lost else 1.0 for family in FAMILIES}


class Brightness(torch.nn.Module):
    """An encoder of one token: the mean of the image."""

    def forward(self, images):
        mean = images.mean(dim=(2, 3))
        return Features(mean[:, None], mean, 1, 1)


def test_pictures_are_encoded_in_batches_without_a_seam(rng):
    network = Network(Brightness(), torch.nn.Identity(), None, Input(mean=IMAGENET[0], std=IMAGENET[1]))
    pictures = rng.integers(0, 255, (300, 4, 5)).astype(np.uint8)
    whole = network.features(torch.from_numpy(pictures))
    parts = build_encoder(network, "cpu")(torch.from_numpy(pictures))
    torch.testing.assert_close(parts.tokens, whole.tokens)
    torch.testing.assert_close(parts.summary, whole.summary)
    assert (parts.rows, parts.columns) == (1, 1)
