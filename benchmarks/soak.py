"""An hour of frames through a live session on two cores: is memory flat, is every step short, is it as offline?

    python benchmarks/soak.py [--frames N] [--learn off|fused] [--world NAME] [--cores A,B] [--home DIR]

A rendered night is driven lap after lap as fast as it goes, on a route that is closed: from a lap's last frame to the
next lap's first it is as far as between any two frames or two. Stamps go on at 10 Hz. Images are in memory; perception,
localization, learning and a sink run in their threads, all on two cores with two threads for the networks. Resident
memory is read once a minute of the drive; it may grow by 5 MB from the fifth minute on. A step is what answering takes
from the percept on, waiting for learning among it; its 99th percentile may be three times its median.

The same hour goes through `localize` offline, in another process: every estimate must be the same, bit for bit. One row
a mode of learning is kept in benchmarks/rows/soak; what is there is not computed again.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np

import tmapr
from fault_drives import Learn
from threads import limit_threads
from tmapr.artifacts.documents import Document
from tmapr.data.health import Detector
from tmapr.device import find_processor
from tmapr.experiment import load, read_experiment
from tmapr.journal.writer import JournalWriter
from tmapr.live.events import Answer, Arrival, Health, Scene
from tmapr.live.session import begin_session
from tmapr.live.sources.recorded import Iterated
from tmapr.perception.opening import open_perceiver
from tmapr.simulation.record import write_dataset
from tmapr.studies.study_plan import Worlds
from tmapr.studies.worlds import list_worlds
from tmapr.types import NANOSECONDS, Estimate, Frame, Percept, Status

HOME = Path(__file__).parents[1]
HOUR = 36_000
PERIOD = NANOSECONDS // 10
MINUTE = 600
"""Frames."""
WORLDS, WORLD = Worlds(first_style=1, count=5, seed=401), "city-1"
"""Its drives have 9.4 frames a second by themselves."""
SAMPLE = "sample"
THREADS = 2
SETTLED = 5
"""Minutes after which memory has to be flat."""


class SoakRow(Document):
    """What an hour was like."""

    world: str
    learn: str
    processor: str
    frames: int
    answered: int
    dropped: int
    localized: int
    lessons: int
    rollbacks: int
    seconds: float
    memory: tuple[float, ...]
    """Resident, in MB, after every minute of the drive."""
    growth: float
    """In MB, from the fifth minute on."""
    perception: tuple[float, float]
    """Median and 99th percentile in milliseconds, as all that follow."""
    step: tuple[float, float]
    waiting: tuple[float, float]
    waited: float
    """Share of the steps that waited for learning for more than a tenth of a millisecond."""
    skipped: int
    """Frames after which nothing was taught, since the journal was not written yet."""
    differing: int
    """Estimates that are others in a replay of the journal; -1: it was not replayed."""


class Meter:
    """A sink that measures, in memory that does not grow."""

    name, complete = "meter", True

    def __init__(self, frames: int) -> None:
        self.digests = np.zeros(frames, np.uint64)
        self.timings = np.zeros((frames, 3))
        self.memory = np.zeros(frames // MINUTE)
        self.localized = 0

    def begin(self, scene: Scene) -> None:
        """Nothing to begin."""

    def take(self, answer: Answer) -> None:
        """Count, and look at the memory once a minute."""
        number = answer.number
        self.digests[number] = digest(answer.estimate)
        self.timings[number] = answer.timings.perception, answer.timings.step, answer.timings.waiting
        self.localized += answer.estimate.status is Status.LOCALIZED
        if (number + 1) % MINUTE == 0:
            self.memory[number // MINUTE] = read_resident()
            done = self.timings[: number + 1, 1]
            middle, most = np.percentile(done, (50, 99)) * 1e3
            told = f"{self.memory[number // MINUTE]:.1f} MB, step {middle:.2f} ms, 99 % within {most:.2f} ms"
            print(f"minute {(number + 1) // MINUTE}: {told}", flush=True)

    def report(self, health: Health) -> None:
        """Nothing to tell."""

    def close(self) -> None:
        """Nothing to end."""


def digest(estimate: Estimate) -> int:
    """Eight bytes that another estimate does not have."""
    said = blake2b(estimate.belief.mean.tobytes() + estimate.belief.covariance.tobytes(), digest_size=8)
    said.update(f"{estimate.stamp} {estimate.status} {estimate.verdict} {estimate.candidate}".encode())
    return int.from_bytes(said.digest(), "little")


def read_resident() -> float:
    """Megabytes of this process that are in memory."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def repeat(night: Sequence[Frame], frames: int) -> Iterator[Frame]:
    """Lap after lap, at 10 Hz."""
    first = night[0].stamp
    for number in range(frames):
        yield replace(night[number % len(night)], index=number, stamp=first + number * PERIOD)


def drive_live(
    world: str, home: Path, frames: int, learn: Learn, cores: Sequence[int]
) -> tuple[SoakRow, np.ndarray, list[int]]:
    """The hour live; what was said of each frame, and the frames after which nothing was taught."""
    limit_threads(THREADS, cores)
    folder, night = open_night(world, home)
    held = [replace(frame, image=(lambda counts: lambda: counts)(frame.image())) for frame in night]
    meter = Meter(frames)
    with TemporaryDirectory() as scratch, begin_session(folder, Path(scratch) / "run", learn, "cpu") as session:
        skipped = listen_for_skipped(session.keeper.journal)
        source = Iterated((Arrival(frame) for frame in repeat(held, frames)), waits=True)
        began = monotonic()
        health = session.drive(source, [meter]).run()
        seconds = monotonic() - began
    settled = meter.memory[SETTLED - 1 :]
    middle, most = (1e3 * np.percentile(meter.timings, percent, axis=0) for percent in (50, 99))
    row = SoakRow(
        world=world,
        learn=learn,
        processor=find_processor(),
        frames=health.taken,
        answered=health.answered,
        dropped=health.dropped,
        localized=meter.localized,
        lessons=health.lessons,
        rollbacks=health.rollbacks,
        seconds=seconds,
        memory=tuple(round(value, 2) for value in meter.memory.tolist()),
        growth=float(settled.max() - settled[0]) if len(settled) else 0.0,
        perception=(middle[0], most[0]),
        step=(middle[1], most[1]),
        waiting=(middle[2], most[2]),
        waited=float((meter.timings[:, 2] > 1e-4).mean()),
        skipped=len(skipped),
        differing=-1,
    )
    return row, meter.digests, skipped


def listen_for_skipped(journal: JournalWriter) -> list[int]:
    """What it is told from now on; by itself it forgets that with its oldest lessons."""
    heard, note = list[int](), journal.note_skipped

    def listen(number: int) -> None:
        heard.append(number)
        note(number)

    journal.note_skipped = listen  # type: ignore[method-assign]
    return heard


def drive_offline(world: str, home: Path, frames: int, learn: Learn, skipped: Sequence[int]) -> np.ndarray:
    """The hour offline, taught as the journal was told.

    Percepts are of two laps, and from then on those of the second with other stamps.
    """
    limit_threads(THREADS)
    folder, night = open_night(world, home)
    perceiver = open_perceiver(read_experiment(folder / "experiment.toml").perception, "cpu")
    stream = perceiver.with_inspection(Detector().inspect).stream(repeat(night, min(frames, 2 * len(night))))
    percepts, digests = list(stream), list[int]()
    localizer = load(folder, overrides=[f"labels.mode={learn}"]).new_drive()
    left_out = set(skipped)
    for number in range(frames):
        estimate = localizer.observe(_find_percept(percepts, number, len(night)))
        digests.append(digest(estimate))
        if number not in left_out:
            localizer.teach(estimate)
    return np.array(digests, np.uint64)


def _find_percept(percepts: Sequence[Percept], number: int, lap: int) -> Percept:
    kept = percepts[number] if number < lap else percepts[lap + number % lap]
    return replace(kept, stamp=percepts[0].stamp + number * PERIOD)


def open_night(world: str, home: Path) -> tuple[Path, list[Frame]]:
    """The folder of a mapped day, and the frames of its night."""
    folder, root, day = home / "runs/soak" / world, tmapr.locate_sample(), "noon"
    if world != SAMPLE:
        root, day = home / "data/soak" / world, "day"
        place = next(each for each in list_worlds(WORLDS, ("night",), home) if each.site == world)
        write_dataset(root, place.world, [each for each in place.traverses if each.name in ("day", "night")])
    if not (folder / "map.npz").exists():
        tmapr.make_map(root / day, folder, device="cpu")
    return folder, list(tmapr.open_sequence(root / "night"))


def show_rows(rows: Sequence[SoakRow]) -> None:
    """A column a mode would be too wide: a line each."""
    heads = ("frames", "answered", "dropped", "localized", "lessons", "a second", "MB after 5 min", "grown by, MB")
    times = ("perception, ms (median, P99)", "step, ms", "P99 / median", "waited", "waiting, ms")
    lines = [
        (
            f"{row.world}, {row.learn}",
            [
                *(f"{count}" for count in (row.frames, row.answered, row.dropped, row.localized, row.lessons)),
                f"{row.frames / row.seconds:.0f}",
                f"{row.memory[SETTLED - 1]:.0f}" if len(row.memory) >= SETTLED else "–",
                f"{row.growth:.1f}",
                *(f"{pair[0]:.1f}, {pair[1]:.1f}" for pair in (row.perception, row.step)),
                f"{row.step[1] / row.step[0]:.1f}",
                f"{row.waited:.2f}",
                f"{row.waiting[0]:.1f}, {row.waiting[1]:.1f}",
                f"{row.skipped}",
                f"{row.differing}",
            ],
        )
        for row in rows
    ]
    titles = ["", *heads, *times, "skipped", "differ offline"]
    print("\nan hour at 10 Hz on two cores\n", f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", sep="\n")
    for name, cells in lines:
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=HOUR, help="that come; 36 000 are an hour")
    parser.add_argument("--learn", choices=("off", "fused"), help="one mode of learning only")
    parser.add_argument("--world", default=WORLD, help="a rendered one by family and style, or the sample")
    parser.add_argument("--cores", default="0,1", help="that the live drive is pinned to")
    parser.add_argument("--home", type=Path, default=HOME, help="where data and maps are kept")
    parser.add_argument("--rows", type=Path, default=HOME / "benchmarks/rows/soak", help="where rows are kept")
    given = parser.parse_args()
    cores = [int(core) for core in given.cores.split(",")]
    given.rows.mkdir(parents=True, exist_ok=True)
    open_night(given.world, given.home)
    rows = []
    modes: list[Learn] = [given.learn] if given.learn else ["fused", "off"]
    for learn in modes:
        path = given.rows / f"{given.world}-{learn}.json"
        asked = given.world, given.home, given.frames, learn
        if not path.exists():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                row, digests, skipped = alone.submit(drive_live, *asked, cores).result()
            row.save(path)  # an hour is not to be lost for what follows
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                differing = digests != alone.submit(drive_offline, *asked, skipped).result()
            row.model_copy(update={"differing": int(differing.sum())}).save(path)
        rows.append(SoakRow.load(path, "python benchmarks/soak.py"))
    show_rows(rows)


if __name__ == "__main__":
    main()
