"""A house of a city's street: a facade, and what is repeated on it."""

from dataclasses import dataclass
from itertools import cycle

import numpy as np

from tmapr.simulation.blocks import Builder, Finish, Wall
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind
from tmapr.simulation.style import Style


@dataclass(frozen=True, slots=True)
class House:
    """A facade and what is repeated on it."""

    width: float
    height: float
    stuff: Stuff
    floor: float
    spacing: float
    window: tuple[float, float]
    door: float
    """Where along the facade, as a share."""
    shop: bool
    units: tuple[tuple[float, float], ...]
    """Air conditioners: shares of width and height."""
    texture: tuple[float, float]
    leak: float
    """W/m² that a badly insulated wall lets through."""
    lit: tuple[float, ...]
    """W/m² behind one window after the other: curtains, lamps, ovens."""

    @classmethod
    def sample(cls, rng: np.random.Generator, style: Style) -> "House":
        """One at random, of two to six storeys."""
        return cls(
            width=style.house_width * rng.uniform(9, 20),
            height=style.house_height * (rng.choice([2, 3, 3, 4, 5, 6]) * rng.uniform(2.9, 3.4)),
            stuff=Stuff(rng.choice([Stuff.BRICK, Stuff.CONCRETE, Stuff.PLASTER, Stuff.PLASTER, Stuff.WOOD])),
            floor=rng.uniform(2.9, 3.4),
            spacing=style.windows * rng.uniform(2.2, 4.5),
            window=(rng.uniform(0.8, 1.9), rng.uniform(1.0, 1.8)),
            door=rng.uniform(0.1, 0.85),
            shop=bool(rng.random() < 0.35),
            units=tuple((rng.uniform(0.05, 0.9), rng.uniform(0.3, 0.9)) for _ in range(rng.poisson(1.2))),
            texture=(rng.uniform(0, 25), rng.uniform(0, 25)),
            leak=rng.uniform(0, 12),
            lit=tuple(rng.gamma(0.5, 25, size=11).tolist()),
        )

    def build(self, builder: Builder, wall: Wall, depth: float) -> None:
        """The front with windows, door, shop and air conditioners, and the two sides."""
        builder.texture = self.texture
        finish = Finish(self.stuff, 0.35, Behind.ROOM, self.leak)
        wall.build(builder, finish)
        for side, direction in ((wall.at(wall.length), -wall.outward), (wall.at(0.0, -depth), wall.outward)):
            Wall(side, direction, depth, wall.height).build(builder, finish)
        self._hang_windows(builder, wall)
        door = Finish(Stuff.WOOD, 0.3, Behind.ROOM)
        wall.hang(builder, (self.door * (wall.length - 1.3), 0.0), (1.2, 2.2), door)
        if self.shop:
            wall.hang(
                builder, (0.08 * wall.length, 0.5), (0.6 * wall.length, 2.0), Finish(Stuff.GLASS, 0.3, Behind.ROOM)
            )
        for along, up in self.units:
            unit = Finish(Stuff.PAINTED_METAL, 0.4, power=180.0)
            wall.hang(builder, (along * (wall.length - 1), up * (wall.height - 1)), (0.9, 0.7), unit, out=0.3)

    def _hang_windows(self, builder: Builder, wall: Wall) -> None:
        power = cycle(self.lit)
        count = int((wall.length - 1.0) / self.spacing)
        margin = (wall.length - count * self.spacing + self.spacing - self.window[0]) / 2
        for storey in range(1 if self.shop else 0, int(wall.height / self.floor)):
            for number in range(count):
                low = (margin + number * self.spacing, storey * self.floor + 1.0)
                if low[1] + self.window[1] < wall.height and (storey or abs(low[0] - self.door * wall.length) > 1.5):
                    wall.hang(builder, low, self.window, Finish(Stuff.GLASS, 0.35, Behind.ROOM, next(power)))
