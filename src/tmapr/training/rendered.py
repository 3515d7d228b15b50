"""Traverses of rendered worlds as a frozen encoder sees them, for training descriptors.

Pictures are drawn on the training device by the torch renderer; heat is solved and images are prepared by as many
processes as there are cores.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from tmapr.perception.encoder import Features
from tmapr.perception.image import Image
from tmapr.simulation.camera import Camera
from tmapr.simulation.render_torch import TorchRenderer, move_texture
from tmapr.simulation.streets import build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Passage, Traverse, prepare_passage
from tmapr.training.metric import TraversesInMemory
from tmapr.types import NANOSECONDS, Fault, Watch

PreparedPictures = UInt8[np.ndarray, "frames height width"]
Encode = Callable[[PreparedPictures], Features]
"""The frozen encoder on a device."""


@dataclass(frozen=True, slots=True)
class Site:
    """A world, and the traverses of it that are driven."""

    family: str
    seed: int
    aliasing: float
    camera: Camera
    traverses: tuple[Traverse, ...]


def encode_sites(
    sites: Sequence[Site], encode: Encode, size: tuple[int, int], device: str, watch: Watch = iter
) -> TraversesInMemory:
    """Draw and encode every frame of every traverse; sites and traverses are numbered in their order."""
    tokens, summaries, positions, headings, owners = [], [], [], [], []
    grid = (0, 0)
    for owner, (passage, pictures) in zip(watch(_traverse_numbers(sites)), _draw(sites, size, device), strict=True):
        features = encode(pictures)
        tokens.append(features.tokens.half())
        summaries.append(features.summary.half())
        grid = (features.rows, features.columns)
        positions.append(passage.positions)
        headings.append(np.array([view.heading for view in passage.views]))
        owners.append(np.full(len(pictures), owner))
    traverses = np.concatenate(owners)
    homes = np.repeat(np.arange(len(sites)), [len(site.traverses) for site in sites])
    return TraversesInMemory(
        torch.cat(tokens),
        torch.cat(summaries),
        grid,
        np.concatenate(positions),
        np.concatenate(headings),
        traverses,
        homes[traverses],
    )


def _traverse_numbers(sites: Sequence[Site]) -> range:
    return range(sum(len(site.traverses) for site in sites))


def _draw(sites: Sequence[Site], size: tuple[int, int], device: str) -> Iterator[tuple[Passage, PreparedPictures]]:
    """Each traverse and its pictures. While one is drawn, those before it are exposed and those after it heated."""
    jobs = [(site, traverse) for site in sites for traverse in site.traverses]
    waiting: deque[tuple[Passage, Future[PreparedPictures]]] = deque()
    # Processes, not threads: what they do in Python would keep this one from feeding the device.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as processes:
        for (site, _), passage in zip(jobs, processes.map(_make_passage, jobs), strict=True):
            radiances = _render(site, passage, device)
            waiting.append((passage, processes.submit(_prepare, passage, radiances, size)))
            if len(waiting) > (os.cpu_count() or 1):
                oldest, pictures = waiting.popleft()
                yield oldest, pictures.result()
        for oldest, pictures in waiting:
            yield oldest, pictures.result()


def _make_passage(job: tuple[Site, Traverse]) -> Passage:
    site, traverse = job
    return prepare_passage(build_world(site.family, site.seed, aliasing=site.aliasing), traverse, site.camera)


def _render(site: Site, passage: Passage, device: str) -> Float[np.ndarray, "frames height width"]:
    texture = _load_texture(site.seed, device)
    renderer = TorchRenderer(passage.scene, site.camera, device)
    drawn = [renderer.radiance(view, passage.appearance, texture) for view in passage.views]
    return torch.stack(drawn).cpu().numpy()


@lru_cache(maxsize=1)
def _load_texture(seed: int, device: str) -> Float[Tensor, "texels 2"]:
    """Traverses of one site follow each other and share it."""
    return move_texture(make_texture(seed), device)


def _prepare(passage: Passage, radiances: Float[np.ndarray, "frames h w"], size: tuple[int, int]) -> PreparedPictures:
    """What the encoder would be given at run time."""
    sensor, image = passage.sensor(), Image()
    pictures = []
    for radiance, nanoseconds in zip(radiances, passage.times.tolist(), strict=True):
        picture = image.prepare(sensor.expose(radiance, nanoseconds / NANOSECONDS), size, "area")
        if isinstance(picture, Fault):
            raise ValueError(f"a rendered image is {picture}")
        pictures.append(picture)
    return np.stack(pictures)
