"""Rendered worlds as training data: what is driven, how it is numbered, and which worlds are never trained on."""

import importlib

import numpy as np
import pytest
import torch

from repository import ROOT
from tmapr.perception.card import IMAGENET, Input
from tmapr.perception.encoder import Features
from tmapr.perception.image import Image
from tmapr.perception.network import Network
from tmapr.perception.pooling import GridPooling, Joined
from tmapr.simulation.camera import Camera
from tmapr.simulation.record import film
from tmapr.simulation.streets import FAMILIES, build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Traverse, prepare_passage
from tmapr.simulation.weather import find_weather
from tmapr.training.metric import TraversesInMemory
from tmapr.training.real import RealSet
from tmapr.training.rendered import Site, encode_sites
from tmapr.training.shipped import (
    ASKED,
    MAPPED,
    TRAINING,
    TUNING,
    Watched,
    build_encoder,
    make_training_sites,
    make_tuning_sites,
    measure_recall,
)
from tmapr.types import CoordinateFrame

BENCHMARKS = ROOT / "benchmarks"
CAMERA = Camera(width=48, height=40, focal=30.0)
SIZE = (40, 48)  # the camera's own: no picture is resized
NOON, NIGHT = Traverse("noon", find_weather("noon"), 7, frames=3), Traverse("night", find_weather("night"), 8, frames=3)
SITES = [
    Site("campus", 41, 0.3, CAMERA, (NOON, NIGHT)),
    Site("campus", 42, 0.0, CAMERA, (NIGHT,)),
]
JOBS = [(site, traverse) for site in SITES for traverse in site.traverses]
GRID = (2, 4)


def as_pixels(pictures):
    """An encoder whose tokens are the rows of a picture."""
    tokens = torch.from_numpy(pictures).float()
    return Features(tokens, tokens.mean(dim=1), SIZE[0], 1)


@pytest.fixture(scope="module")
def driven():
    """Processes are started for it, so once."""
    return encode_sites(SITES, as_pixels, SIZE, "cpu")


def world_of(site):
    return build_world(site.family, site.seed, aliasing=site.aliasing)


def test_positions_and_headings_are_those_of_the_traverses(driven):
    passages = [prepare_passage(world_of(site), traverse, CAMERA) for site, traverse in JOBS]
    np.testing.assert_array_equal(driven.positions, np.concatenate([passage.positions for passage in passages]))
    np.testing.assert_array_equal(driven.headings, [view.heading for passage in passages for view in passage.views])


def test_sites_and_traverses_are_numbered_in_their_order(driven):
    assert driven.traverses.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert driven.sites.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]


def test_each_picture_is_the_one_that_is_seen_there_at_run_time(driven):
    prepare = Image().prepare
    seen = [
        prepare(frame.image(), SIZE).ravel()
        for site, traverse in JOBS
        for frame in film(world_of(site), traverse, CAMERA, make_texture(site.seed), CoordinateFrame())
    ]
    count = len(seen)
    alike = np.corrcoef(np.concatenate([driven.tokens.flatten(1).float(), seen]))[:count, count:]
    # Two renderers, whose float32 differs in the last bits; with another world's texture the least is 0.991.
    assert alike.diagonal().min() > 0.9999


def test_training_tuning_and_reporting_share_no_world(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = importlib.import_module("descriptor")
    ranges = [TRAINING, TUNING, benchmark.REPORTED]
    assert len(set().union(*ranges)) == sum(map(len, ranges))


def test_no_traverse_of_the_report_has_a_seed_of_training_or_of_another_world(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = importlib.import_module("descriptor")
    worlds, laps = benchmark.REPORTED, range(1 + len(ASKED))
    reported = {benchmark.traverse_seed(world, lap) for world in worlds for lap in laps}
    known = {traverse.seed for site in make_training_sites() + make_tuning_sites() for traverse in site.traverses}
    assert len(reported) == len(worlds) * len(laps)
    assert not reported & known


def test_training_has_every_family_and_seed_once_in_weathers_of_its_own():
    sites = make_training_sites()
    assert {(site.family, site.seed) for site in sites} == {(family, seed) for family in FAMILIES for seed in TRAINING}
    weathers = {traverse.weather for site in sites if site.family == "city" for traverse in site.traverses}
    assert len(weathers) == sum(len(site.traverses) for site in sites) / len(FAMILIES)


def test_tuning_maps_at_noon_and_asks_in_other_weathers():
    for site in make_tuning_sites():
        assert [traverse.name for traverse in site.traverses] == [MAPPED, *ASKED]


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


def test_a_look_tells_of_worlds_and_of_every_real_set():
    """Of the real places, the last two are taken for each other."""
    shown = [torch.eye(10)[[*range(8), *last]][:, None].expand(-1, GRID[0] * GRID[1], -1) for last in ((9, 8), (8, 9))]
    swapped = RealSet(*(Features(tokens, tokens[:, 0], *GRID) for tokens in shown), np.eye(10, dtype=bool))
    watched = Watched(tuning_frames(("city",)), {"street": swapped})
    look = watched.look(250, 1.5, Joined([GridPooling(10)], [1.0]))
    assert (look.step, look.loss) == (250, 1.5)
    assert look.tuning_recall == {family: 0.0 if family == "city" else 1.0 for family in FAMILIES}
    assert look.real_recall["street"].plain == 0.8


class Brightness(torch.nn.Module):
    """An encoder of one token: the mean of the image."""

    def forward(self, images):
        mean = images.mean(dim=(2, 3))
        return Features(mean[:, None], mean, 1, 1)


def test_pictures_are_encoded_in_batches_without_a_seam(rng):
    network = Network(Brightness(), torch.nn.Identity(), None, Input(mean=IMAGENET[0], std=IMAGENET[1]))
    pictures = rng.integers(0, 255, (300, 4, 5)).astype(np.uint8)
    whole = network.features(torch.from_numpy(pictures))
    parts = build_encoder(network, "cpu")(pictures)
    torch.testing.assert_close(parts.tokens, whole.tokens)
    torch.testing.assert_close(parts.summary, whole.summary)
    assert (parts.rows, parts.columns) == (1, 1)
