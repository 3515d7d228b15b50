"""`tmapr map --cluster`: the traverses are encoded and learned by orders; all else is as on one machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tmapr.artifacts.lock import writing
from tmapr.artifacts.run import RunFolder
from tmapr.cluster import encoding as parts
from tmapr.cluster.encoding import join_parts, plan_encoding
from tmapr.cluster.learning import PartsTeacher
from tmapr.cluster.orders import EncodeOrder, is_done
from tmapr.cluster.workers import Alone, Workers
from tmapr.cluster.workshop import Workshop
from tmapr.experiment import Experiment
from tmapr.places.classifier import refuse_minimax
from tmapr.running.encoding import Encoding
from tmapr.running.running import map_experiment
from tmapr.system import Map
from tmapr.types import Watch


@dataclass(frozen=True, slots=True)
class ClusterMapping:
    """Maps an experiment by the hands of workers; `frames` is how long parts are, whoever works."""

    experiment: Experiment
    folder: RunFolder
    workers: Workers
    device: str = "auto"
    watch_encoding: Watch = iter
    watch_mapping: Watch = iter
    frames: int = parts.FRAMES
    anew: bool = False
    """Whether parts of an earlier attempt are no good."""

    def make(self, encoding: Encoding) -> Map:
        """Write map.npz; what the orders left goes then."""
        places, shop = self.experiment.system.places, Workshop.of(self.folder)
        refuse_minimax(places, "mapping in parts")
        teacher = PartsTeacher(places, shop, self.workers, self.watch_mapping, self.frames)
        watch = self.watch_mapping
        made = map_experiment(self.experiment, self.folder, watch, encoding, ahead=self._encode, teach=teacher)
        with writing(self.folder.path):
            shop.clear()
        return made

    def _encode(self, encoding: Encoding) -> None:
        shop = Workshop.of(self.folder)
        if self.anew:
            shop.clear()
        planned = plan_encoding(self.experiment, shop, encoding, self.device, self.frames)
        orders = [order for some in planned.values() for order in some]
        left = [order for order in orders if not is_done(order)]
        if orders and len(left) < len(orders):
            encoding.tell(f"{len(orders) - len(left)} of {len(orders)} parts are encoded already")
        with noting(orders):
            self.workers.carry_out(left, self.watch_encoding)
        for name, some in planned.items():
            join_parts(shop, encoding, name, some)


@contextmanager
def noting(orders: Sequence[EncodeOrder]) -> Iterator[None]:
    """Say of an interruption what the next attempt will find."""
    try:
        yield
    except KeyboardInterrupt as stop:
        done = sum(map(is_done, orders))
        stop.add_note(f"{done} of {len(orders)} parts are encoded and kept; the same command goes on")
        raise


def encode_share(
    experiment: Experiment, folder: RunFolder, encoding: Encoding, share: tuple[int, int], device: str, watch: Watch
) -> int:
    """Carry out every so manieth order to encode, as one of many that a batch system starts; how many that were.

    All others may work in the same folder meanwhile.
    """
    number, count = share
    planned = plan_encoding(experiment, Workshop.of(folder), encoding, device)
    mine = [order for some in planned.values() for order in some][number - 1 :: count]
    with noting(mine):
        Alone().carry_out([order for order in mine if not is_done(order)], watch)
    return len(mine)
