"""A made-up map on a device, of any size: unit descriptors with near neighbours, and two lessons for each place."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dense_ridge import DenseRidge
from tmapr.device.condition import DeviceCondition
from tmapr.device.memory import DeviceMemory
from tmapr.device.places import DevicePlaces
from tmapr.device.recognition import Recogniser
from tmapr.device.ridge import DeviceRidge
from tmapr.device.triangle import UPDATES
from tmapr.places.classifier import Classifier, Places
from tmapr.places.grid import Grid
from tmapr.places.projection import Identity, Projection, Subspace
from tmapr.retrieval.memory import Memory, remember
from tmapr.retrieval.search import Retrieval

CELL, REDUCED = 15.0, 32
RIGHT = 10.0
"""Metres within which a candidate is right."""


@dataclass
class World:
    """A map, its places taught on the device, and views of it."""

    device: torch.device
    memory: Memory
    settings: Places
    classifier: Classifier
    ridge: DeviceRidge
    dense: DenseRidge
    """The same K and W as they are written, for who writes it so."""
    places: DevicePlaces
    condition: DeviceCondition
    queries: Tensor
    truth: Tensor
    retrieval: Retrieval = field(default_factory=Retrieval)

    @classmethod
    def make(cls, references: int, dimension: int, places: int, frames: int, device: torch.device) -> "World":
        """A straight drive, its places entered in order; views of it under another condition."""
        generator = torch.Generator(device).manual_seed(22)

        def draw(*shape: int) -> Tensor:
            return normalize(torch.randn(shape, generator=generator, device=device), dim=-1)

        positions = np.column_stack([np.linspace(0.1, CELL * places - 0.1, references), np.zeros(references)])
        place_of = (positions[:, 0] // CELL).astype(int)
        seen = torch.as_tensor(place_of, device=device)
        shared = draw(dimension)
        rows = normalize(0.8 * shared + draw(places, dimension)[seen] + 0.1 * draw(references, dimension), dim=1)
        memory = remember(
            rows.cpu().numpy(), positions, place_of, np.arange(references), frames=np.arange(references), probes=256
        )
        settings = Places(projection=Projection(kind="identity"), cell=CELL)
        axes = np.linalg.qr(np.random.default_rng(1).normal(size=(dimension, min(REDUCED, dimension))))[0]
        reducer = Subspace(memory.mean, 1.3 * axes)
        classifier = Classifier(settings, Grid(np.array([0.0, -CELL / 2]), CELL), Identity(dimension), reducer)
        for place in range(places):
            classifier.grid.enter(np.array([CELL * (place + 0.5), 0.0]))
        ridge = DeviceRidge(dimension, settings.ridge, places, device)
        dense = DenseRidge(dimension, settings.ridge, places, device)
        taught = DevicePlaces(settings, classifier, ridge, device)
        truth = torch.randint(references, (frames,), generator=generator, device=device)
        queries = normalize(rows[truth] + 0.3 * draw(dimension) + 0.7 * draw(frames, dimension), dim=1).double()
        condition = DeviceCondition(dimension, device)
        made = cls(device, memory, settings, classifier, ridge, dense, taught, condition, queries, truth)
        made.teach(rows, seen, places)
        return made

    def teach(self, rows: Tensor, seen: Tensor, places: int) -> None:
        """Two lessons for each place; and the condition of a drive that has gone on for a while."""
        for place in list(range(places)) * 2:
            self.places.enter(place)
            where = torch.tensor([place], device=self.device)
            row = rows[(seen == place).nonzero()[0, 0]].double()
            lesson = self.places.learn(row, where)
            self.ridge.absorb_place(where[0], lesson.weights)
            self.ridge.flush(UPDATES)
            self.dense.observe(lesson.rows)
            self.dense.absorb_place(where, lesson.weights)
        for view in self.queries[:20]:
            self.condition.turn_to(1)
            self.condition.note(view, torch.ones((), dtype=torch.float64, device=self.device))
            self.condition.keep(1)
        self.condition.turn_to(2)

    def recogniser(self, dtype: torch.dtype) -> Recogniser:
        """One that keeps the references in this precision."""
        kept = DeviceMemory(self.memory, self.device, dtype)
        return Recogniser(self.retrieval, kept, self.places, self.condition, RIGHT)
