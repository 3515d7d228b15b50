"""A₀, learned in parts: one process follows all frames in their order, and others sum what each part adds to K and W.

To follow a frame (its place, U's direction, G's Gaussians) costs a fifteenth of learning it and has to be done in
order; so U and G are those of mapping one frame after the other, bit for bit. K and W are those of the same rows and of
the weights that the sums recorded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Header, digest, load_arrays, put, save_arrays
from tmapr.artifacts.layout import check_arrays
from tmapr.cluster.orders import Order, SumOrder, is_done
from tmapr.cluster.work import LESSONS_KIND, SUMS_KIND, VERSION
from tmapr.cluster.workers import Workers
from tmapr.cluster.workshop import Workshop, name_key
from tmapr.config import settings_digest
from tmapr.places.classifier import Classifier, Places, refuse_minimax
from tmapr.places.mapped import Learned
from tmapr.places.sums import LAYOUT, Part, Sums
from tmapr.types import Watch

FRAMES = 512
"""Of a part. Its sums have the size of K, so that fewer frames would take more room and more to add."""


@dataclass(frozen=True, slots=True)
class PartsTeacher:
    """Teaches a map's classifier by orders that others carry out."""

    settings: Places
    shop: Workshop
    workers: Workers
    watch: Watch = iter
    frames: int = FRAMES

    def __call__(
        self,
        classifier: Classifier,
        descriptors: Float[np.ndarray, "refs dim"],
        positions: Float[np.ndarray, "refs 2"],
    ) -> Learned:
        """The place of each reference and the weights it had; the classifier has then learned them all."""
        refuse_minimax(self.settings, "mapping in parts")
        places, orders = list[int](), list[Order]()
        for begin in range(0, len(positions), self.frames):
            some = slice(begin, begin + self.frames)
            part = _follow(classifier, descriptors[some], positions[some])
            places += part.places.tolist()
            orders.append(self._order(classifier, part))
        self.workers.carry_out([order for order in orders if not is_done(order)], self.watch)
        weights = list[Float[np.ndarray, "frames rows"]]()
        classifier.complete(self._load_sums(orders, weights))
        return Learned(np.array(places), np.concatenate(weights))

    def _order(self, classifier: Classifier, part: Part) -> SumOrder:
        """Write down what has to be summed, if it is not yet."""
        arrays = {"descriptors": part.descriptors, "places": part.places}
        if part.steps is not None:
            arrays["steps"] = part.steps
        fitted = classifier.projection_arrays()
        arrays |= put("fitted.", {name: fitted[name] for name in fitted if not name.startswith("reducer.")})
        settings = settings_digest(self.settings)
        key = name_key({"version": VERSION, "tmapr": version("tmapr"), "settings": settings, "arrays": digest(arrays)})
        order = SumOrder(tmapr=version("tmapr"), workshop=str(self.shop.path), key=key)
        if not is_done(order) and not self.shop.lessons(key).exists():
            notes = {"places": self.settings.model_dump_json()}
            save_arrays(self.shop.lessons(key), Header(LESSONS_KIND, VERSION, settings, notes), arrays)
        return order

    def _load_sums(self, orders: Sequence[Order], weights: list[Float[np.ndarray, "frames rows"]]) -> Iterator[Sums]:
        """One after another, since each is as large as K; the weights of each are noted."""
        for order in orders:
            path = self.shop.sums(order.key)
            _, arrays = load_arrays(path, SUMS_KIND, VERSION)
            check_arrays(str(path), arrays, LAYOUT, f"remove {self.shop.path} and map again")
            sums = Sums.from_arrays(arrays)
            weights.append(sums.weights)
            yield sums


def _follow(
    classifier: Classifier, descriptors: Float[np.ndarray, "refs dim"], positions: Float[np.ndarray, "refs 2"]
) -> Part:
    found = [classifier.follow(*each) for each in zip(descriptors, positions, strict=True)]
    steps = [step for _, step in found if step is not None]
    return Part(descriptors, np.array(steps) if steps else None, np.array([place for place, _ in found]))
