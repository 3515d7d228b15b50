"""The job function: whoever gets an order calls `perform`, in whatever process, on whatever machine."""

import socket
from collections.abc import Iterator
from contextlib import closing
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from threading import get_ident

from tmapr.artifacts.arrays import Header, load_arrays, save_arrays, take
from tmapr.artifacts.keypoints import save_keypoints
from tmapr.artifacts.layout import Array, check_arrays
from tmapr.cluster.orders import EncodeOrder, Order, SumOrder, is_done, read_order
from tmapr.cluster.workshop import Workshop
from tmapr.config import settings_digest
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence
from tmapr.data.survey import survey
from tmapr.device import open_perceiver
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, find_home, read_experiment
from tmapr.perception.bulk import ONE, Readers, count_cores
from tmapr.perception.glance import Given, Shown, read_or_none
from tmapr.perception.keypoints import KeypointFinder
from tmapr.perception.perceiver import Perceiver
from tmapr.places.settings import Places
from tmapr.places.sums import Part, sum_part
from tmapr.running.assembly import Assembly
from tmapr.running.encoding import Encoding
from tmapr.running.keypoints import find_in, name_maker, wants_keypoints
from tmapr.types import Frame

LESSONS_KIND, SUMS_KIND, VERSION = "lessons", "sums", 1
_LESSONS = {
    "descriptors": Array("f", "frames width"),
    "steps": Array("f", "frames width", optional=True),
    "places": Array("i", "frames", 0),
}


def perform(line: str) -> str:
    """Do what an order says, unless somebody has done it; its key."""
    order = read_order(line)
    if not is_done(order):
        try:
            _carry_out(order)
        except InputError as error:
            raise InputError(f"{error} (on {socket.gethostname()})") from None
    return order.key


def _carry_out(order: Order) -> None:
    match order:
        case EncodeOrder():
            _encode(order)
        case SumOrder():
            _sum(order)


def _encode(order: EncodeOrder) -> None:
    shop = Workshop(Path(order.workshop))
    experiment = _read_experiment(shop.path / order.experiment)
    encoding = Encoding(experiment, shop.run, order.device)
    sequence = encoding.open(order.sequence)
    frames = sequence[order.begin : order.end]
    now = survey(frames, find_home(experiment.data, order.sequence))
    assembly = Assembly(order.sequence, now, experiment, None, encoding.precision)
    # One stream for each order: what an image is compared with is this recording's.
    network = _open_perceiver(shop.path / order.experiment, order.device, get_ident())
    perceiver = network.with_inspection(Detector().inspect)
    given = chain[Given](map(Shown, _look_behind(sequence, order.begin)), frames)
    # On a CPU the network takes the cores, and there is one worker for each.
    readers = ONE if encoding.precision == "float32" else Readers(count_cores())
    with closing(perceiver.stream(given, readers=readers)) as percepts:
        for percept in percepts:
            assembly.add(percept)
    if wants_keypoints(experiment):
        image, find = experiment.perception.image, _open_finder()
        rows = [find_in(find, frame, image) for frame in frames]
        save_keypoints(shop.part_keypoints(order.key), rows, now.sources.contents, name_maker(image), "")
    assembly.save(shop.part(order.key))  # the last: it says that the order is done


def _look_behind(sequence: Sequence, begin: int) -> list[Frame]:
    """The last frame before `begin` whose image can be read, and those after it: the next image is compared with it."""
    for count in _double(begin):
        behind = list(sequence[begin - count : begin])
        for place in range(count - 1, -1, -1):
            if read_or_none(behind[place].image) is not None:
                return behind[place:]
    return []


def _double(most: int) -> Iterator[int]:
    """1, 2, 4 … and at last `most`."""
    count = 1
    while count < most:
        yield count
        count *= 2
    if most:
        yield most


def _sum(order: SumOrder) -> None:
    shop = Workshop(Path(order.workshop))
    path = shop.lessons(order.key)
    header, arrays = load_arrays(path, LESSONS_KIND, VERSION)
    check_arrays(str(path), arrays, _LESSONS, "remove RUN/jobs and map again")
    settings = Places.model_validate_json(str(header.notes["places"]))
    projector = settings.projection.load(take(arrays, "fitted."))
    found = sum_part(settings, projector, Part(arrays["descriptors"], arrays.get("steps"), arrays["places"]))
    save_arrays(shop.sums(order.key), Header(SUMS_KIND, VERSION, settings_digest(settings), {}), found.arrays())


@lru_cache(maxsize=2)
def _read_experiment(path: Path) -> Experiment:
    return read_experiment(path)


@lru_cache(maxsize=2)
def _open_perceiver(settings: Path, device: str, thread: int) -> Perceiver:  # noqa: ARG001 (no two threads share one)
    """Opened once: to open a network takes as long as to encode some images."""
    perception = _read_experiment(settings).perception
    return open_perceiver(perception, device).with_full_batches().without_keypoints()


@cache
def _open_finder() -> KeypointFinder:
    return KeypointFinder()
