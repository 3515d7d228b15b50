"""Traverses of rendered worlds, drawn for training descriptors and shown to a frozen encoder.

As many processes as there are cores solve for heat, draw with the torch renderer on the training device, expose and
prepare, a whole traverse at a time.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from tmapr.perception.encoder import Features
from tmapr.perception.image import Image
from tmapr.perception.recipes import Disguise
from tmapr.simulation.camera import Camera
from tmapr.simulation.render_torch import TorchRenderer, move_texture
from tmapr.simulation.streets import LEAST, build_world
from tmapr.simulation.style import sample_style
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Passage, Traverse, prepare_passage
from tmapr.simulation.world import World
from tmapr.training.disguise import disguise
from tmapr.training.metric import TraversesInMemory
from tmapr.training.spectrum import change_spectrum
from tmapr.types import NANOSECONDS, Fault, Watch

PreparedPictures = UInt8[np.ndarray, "frames height width"]
Encode = Callable[[UInt8[Tensor, "frames height width"]], Features]
"""The frozen encoder on a device."""

_DRAWING = 5 << 30
"""Bytes of a GPU's memory that a process may need to draw."""

_AT_ONCE = 256
"""Pictures that are disguised together."""


@dataclass(frozen=True, slots=True)
class Drive:
    """One traverse of a site by one camera."""

    traverse: Traverse
    camera: Camera
    spectrum: int | None = None
    """The seed of one that is not the long-wave infrared."""


@dataclass(frozen=True, slots=True)
class Site:
    """A world, and how it is driven through."""

    family: str
    seed: int
    style: int
    aliasing: float
    drives: tuple[Drive, ...]

    def build_world(self) -> World:
        """The world, its route as long as the style has it for the frames of a drive."""
        style = sample_style(self.style, self.family)
        length = style.route_length(self.drives[0].traverse.frames, LEAST[self.family])
        return build_world(self.family, self.seed, aliasing=self.aliasing, length=length, style=style)


@dataclass(frozen=True, slots=True)
class DrawnTraverses:
    """Every frame of every drive as the encoder would be given it; sites and traverses are numbered in their order."""

    pictures: PreparedPictures
    positions: Float[np.ndarray, "frames 2"]
    headings: Float[np.ndarray, " frames"]
    traverses: Int[np.ndarray, " frames"]
    sites: Int[np.ndarray, " frames"]

    def encode(self, encode: Encode) -> TraversesInMemory:
        """What the encoder sees, kept in half precision."""
        seen = encode(torch.from_numpy(self.pictures))
        return TraversesInMemory(
            seen.tokens.half(),
            seen.summary.half(),
            (seen.rows, seen.columns),
            self.positions,
            self.headings,
            self.traverses,
            self.sites,
        )


class DisguisedTraverses:
    """Traverses of which a share of the frames is seen in one of a few disguises, each time anew."""

    def __init__(self, plain: TraversesInMemory, copies: Sequence[TraversesInMemory], share: float, seed: int) -> None:
        self._versions = (plain, *copies)
        self.positions, self.headings = plain.positions, plain.headings
        self.traverses, self.sites = plain.traverses, plain.sites
        self._share, self._rng = share, np.random.default_rng(seed)

    def features(self, rows: Int[np.ndarray, " n"]) -> Features:
        """What the encoder made of these frames, each as it is or in disguise."""
        hidden = self._rng.random(len(rows)) < self._share
        chosen = np.where(hidden, self._rng.integers(1, len(self._versions), len(rows)), 0)
        seen = [version.features(rows[chosen == number]) for number, version in enumerate(self._versions)]
        order = torch.from_numpy(np.argsort(np.argsort(chosen, kind="stable"), kind="stable"))
        tokens, summaries = (torch.cat(column)[order] for column in zip(*(each[:2] for each in seen), strict=True))
        return Features(tokens, summaries, seen[0].rows, seen[0].columns)


def encode_in_disguise(
    drawn: DrawnTraverses, encode: Encode, settings: Disguise, seed: int, device: str
) -> DisguisedTraverses:
    """Show the encoder every frame as it is and in so many disguises."""
    generator = torch.Generator(device).manual_seed(seed)

    def hide(pictures: UInt8[Tensor, "frames height width"]) -> Features:
        parts = [disguise(part.to(device), settings, generator) for part in torch.split(pictures, _AT_ONCE)]
        return encode(torch.cat(parts))

    copies = [drawn.encode(hide) for _ in range(settings.copies)]
    return DisguisedTraverses(drawn.encode(encode), copies, settings.share, seed)


def draw_sites(sites: Sequence[Site], size: tuple[int, int], device: str, watch: Watch = iter) -> DrawnTraverses:
    """Draw every frame of every drive."""
    drawn = list(draw_each(sites, size, device, watch))
    homes = np.repeat(np.arange(len(sites)), [len(site.drives) for site in sites])
    traverses = np.repeat(np.arange(len(drawn)), [len(each.positions) for each in drawn])
    return DrawnTraverses(
        np.concatenate([each.pictures for each in drawn]),
        np.concatenate([each.positions for each in drawn]),
        np.concatenate([each.headings for each in drawn]),
        traverses,
        homes[traverses],
    )


@dataclass(frozen=True, slots=True)
class DrawnDrive:
    """One drive's frames."""

    pictures: PreparedPictures
    positions: Float[np.ndarray, "frames 2"]
    headings: Float[np.ndarray, " frames"]


def draw_each(sites: Sequence[Site], size: tuple[int, int], device: str, watch: Watch = iter) -> Iterator[DrawnDrive]:
    """One drive after the other."""
    jobs = [(site, drive, size, device) for site in sites for drive in site.drives]
    workers = count_workers(device)
    # Processes, not threads: what they do in Python would keep each other from feeding the device.
    with ProcessPoolExecutor(workers, get_context("spawn"), share_device, (device, workers)) as processes:
        for _, drawn in zip(watch(range(len(jobs))), processes.map(_draw, jobs), strict=True):
            yield drawn


def count_workers(device: str) -> int:
    """As many processes as there are cores and, on a GPU, as have memory there."""
    cores = os.cpu_count() or 1
    if device == "cpu":
        return cores
    return max(1, min(cores, torch.cuda.get_device_properties(device).total_memory // _DRAWING - 1))


def share_device(device: str, workers: int) -> None:
    """Make this process one of many: a core, and of a GPU's memory a part; what it keeps for later counts, too."""
    torch.set_num_threads(1)
    if device != "cpu":
        torch.cuda.set_per_process_memory_fraction(1 / (workers + 1))


def _draw(job: tuple[Site, Drive, tuple[int, int], str]) -> DrawnDrive:
    site, drive, size, device = job
    passage = prepare_passage(site.build_world(), drive.traverse, drive.camera)
    if drive.spectrum is not None:
        painted = change_spectrum(passage.appearance, passage.scene, np.random.default_rng(drive.spectrum))
        passage = replace(passage, appearance=painted)
    headings = np.array([view.heading for view in passage.views])
    return DrawnDrive(_prepare(passage, _render(site, passage, device), size), passage.positions, headings)


def _render(site: Site, passage: Passage, device: str) -> Iterator[Float[np.ndarray, "height width"]]:
    texture = _load_texture(site.seed, site.style, site.family, device)
    renderer = TorchRenderer(passage.scene, passage.camera, device)
    for view, since in zip(passage.views, passage.times.tolist(), strict=True):
        if passage.movers:
            renderer.move(passage.movers.scene_at(since / NANOSECONDS))
        yield renderer.radiance(view, passage.appearance, texture).cpu().numpy()


@lru_cache(maxsize=1)
def _load_texture(seed: int, style: int, family: str, device: str) -> Float[Tensor, "texels 2"]:
    """Drives of one site follow each other and share it."""
    chosen = sample_style(style, family)
    return move_texture(make_texture(seed, chosen.relief, chosen.grain), device)


def _prepare(
    passage: Passage, radiances: Iterator[Float[np.ndarray, "h w"]], size: tuple[int, int]
) -> PreparedPictures:
    """What the encoder would be given at run time."""
    sensor, image = passage.sensor(), Image()
    pictures = []
    for radiance, nanoseconds in zip(radiances, passage.times.tolist(), strict=True):
        picture = image.prepare(sensor.expose(radiance, nanoseconds / NANOSECONDS), size, "area")
        if isinstance(picture, Fault):
            raise ValueError(f"a rendered image is {picture}")
        pictures.append(picture)
    return np.stack(pictures)
