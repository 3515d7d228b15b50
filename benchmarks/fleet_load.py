"""A fleet under load on a real PostgreSQL server: is anything lost, is anything allowed that must not be?

    python benchmarks/fleet_load.py [--seconds N] [--robots N] [--features N] [--binaries DIR]

So many robots drive, learn and push what they learned, and as many read: they pull the newest release, check it and
localize with it, each a process of its own. A publisher merges meanwhile. In the middle the server and all its
processes are killed at once, and started again a second later. Every robot notes on its disk which pushes were
acknowledged; afterwards each of them must be there, whole, and the merge of all robots must equal one learner that saw
every lesson. Then a robot's login tries what it must not be able to do.

The server is Debian's or that of the package pgserver, with its default settings: a commit is on the disk.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import psycopg

from fleet_world import compare_with_one_learner, learn_row, make_run, map_world, record
from measure import Metric, conclude, show
from postgres_server import Server, find_binaries, serving
from tmapr.experiment import load
from tmapr.fleet.documents import Push
from tmapr.fleet.enrolling import enrol
from tmapr.fleet.keeping import list_unsound, read_pulled
from tmapr.fleet.merging import merge
from tmapr.fleet.migrating import migrate
from tmapr.fleet.parts import fill
from tmapr.fleet.postgres import PostgresFleet
from tmapr.fleet.protocol import UnreachableError
from tmapr.fleet.publishing import publish
from tmapr.fleet.pulling import NEWEST, pull
from tmapr.fleet.pushing import push
from tmapr.journal.journal import FOLDER
from tmapr.journal.redo import describe
from tmapr.journal.writer import JournalWriter
from tmapr.places.lessons import Lesson
from tries import TRIES, stage

LESSONS = 5
"""Between two pushes."""
OUTAGE = 1.0
PAUSE = 0.2
ACKNOWLEDGED, COUNTED, LEARNED = "acknowledged.txt", "counted.txt", "lessons.npz"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of it."""

    seconds: float
    robots: int
    features: int = 256


@dataclass(frozen=True, slots=True)
class Found:
    """What came of it."""

    acknowledged: int
    lost: int
    pulls: int
    unsound: int
    frames: int
    frames_offline: int
    failures: int
    lessons: int
    K: float
    W: float
    outage: float
    push_ms: tuple[float, float]


def run_load(server: Server, home: Path, plan: Plan, database: str = "fleet") -> Found:
    """Let them all work at once, kill the server in between, and look what is left."""
    address = server.address(database=database)
    migrate(address, store=str(home / "store"), insecure=False)
    (home / "mapped").mkdir()
    publisher = PostgresFleet(server.address("publisher", enrol(address, "publisher", "publisher"), database))
    base = publish(publisher, make_run(home / "mapped", plan.features))
    publisher.close()
    works: list[tuple[Callable[..., None], str]] = [(_push_on, f"pusher{number}") for number in range(plan.robots)]
    works += [(_read_on, f"reader{number}") for number in range(plan.robots)]
    context = get_context("fork")  # what was imported and compiled is not again
    logins = {name: server.address(name, enrol(address, name), database) for _, name in works}
    until = time.monotonic() + plan.seconds
    processes = [
        context.Process(target=work, args=(logins[name], home / name, number, until))
        for number, (work, name) in enumerate(works)
    ]
    for process in processes:
        process.start()
    try:
        outage = _disturb(server, home, database, base.name, until, plan.seconds)
    finally:
        for process in processes:
            process.join(plan.seconds + 300)
    failures = sum(process.exitcode != 0 for process in processes)
    return _judge(server, home, plan, database, base.name, outage, failures)


def _disturb(server: Server, home: Path, database: str, base: str, until: float, seconds: float) -> float:
    """Merge once, then kill the server in the middle; how long nobody could reach it."""
    _sleep_until(until - 0.7 * seconds)
    password = _reset_password(server, "publisher")
    fleet = PostgresFleet(server.address("publisher", password, database))
    if fleet.list_pushes(base):
        merge(fleet, base, home / "early")
    fleet.close()
    _sleep_until(until - 0.5 * seconds)
    began = time.monotonic()
    server.kill()
    time.sleep(OUTAGE)
    server.start()
    return time.monotonic() - began


def _sleep_until(when: float) -> None:
    time.sleep(max(when - time.monotonic(), 0))


def _reset_password(server: Server, name: str) -> str:
    server.execute(f"ALTER ROLE {name} PASSWORD '{server.password}'")
    return server.password


class _Line:
    """A fleet that is called again whenever nobody answers."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._fleet: PostgresFleet | None = None
        self.broken = 0

    def use(self, work: Callable[[PostgresFleet], object]) -> bool:
        """Do it, if somebody answers; whether that was so."""
        try:
            self._fleet = self._fleet or PostgresFleet(self._address)
            work(self._fleet)
            return True
        except UnreachableError:
            self.broken += 1
            self.close()
            time.sleep(PAUSE)
            return False

    def insist(self, work: Callable[[PostgresFleet], object]) -> None:
        """Do it as often as it takes."""
        while not self.use(work):
            pass

    def close(self) -> None:
        if self._fleet:
            self._fleet.close()
        self._fleet = None


def _push_on(address: str, home: Path, number: int, until: float) -> None:
    """Drive, learn and push until the time is over; what was acknowledged is noted before anything else happens."""
    line, run, lessons, times = _Line(address), home / "run", [], []
    line.insist(lambda fleet: pull(fleet, NEWEST, run))
    localizer, row = load(run), 40 * number
    with (home / ACKNOWLEDGED).open("a") as noted:
        over = False
        while not over:
            over = time.monotonic() > until
            with JournalWriter(run / FOLDER, describe(localizer), lose_at_most=100_000, fsync_every=0) as writer:
                lessons += [learn_row(localizer, writer, 100 + number, row + step) for step in range(LESSONS)]
                localizer.save(run)
                writer.note_saved(localizer.classifier.ledger.last)
            row += LESSONS

            def send(fleet: PostgresFleet) -> None:
                began = time.monotonic()
                received = push(fleet, run)
                times.append(time.monotonic() - began)
                noted.write(f"{received.name}\n")
                noted.flush()
                os.fsync(noted.fileno())

            line.insist(send)
    line.close()
    np.savetxt(home / COUNTED, times)
    _keep_lessons(home / LEARNED, lessons)


def _keep_lessons(path: Path, lessons: list[Lesson]) -> None:
    np.savez(
        path,
        rows=np.concatenate([lesson.rows for lesson in lessons]),
        weights=np.concatenate([lesson.weights for lesson in lessons]),
        cells=np.repeat([lesson.cell for lesson in lessons], [len(lesson.rows) for lesson in lessons], axis=0),
    )


def _read_on(address: str, home: Path, number: int, until: float) -> None:
    """Pull the newest release and localize with what is there, whether somebody answers or not."""
    line, run = _Line(address), home / "run"
    line.insist(lambda fleet: pull(fleet, NEWEST, run))
    percepts, pulls, unsound, frames, offline = record(200, "dusk").percepts, 0, 0, 0, 0
    while time.monotonic() < until:
        reached = line.use(lambda fleet: pull(fleet, NEWEST, run))
        pulled = read_pulled(run)
        localizer = load(run).new_drive()
        answered = sum(localizer.observe(percept) is not None for percept in percepts[number : number + 3])
        pulls += reached
        unsound += pulled is None or bool(list_unsound(run, pulled))
        frames += answered
        offline += 0 if reached else answered
    line.close()
    np.savetxt(home / COUNTED, [pulls, unsound, frames, offline])


def _judge(server: Server, home: Path, plan: Plan, database: str, base: str, outage: float, failures: int) -> Found:
    """Everything that was acknowledged is looked for, byte by byte; the merge is compared with one learner."""
    fleet = PostgresFleet(server.address("publisher", server.password, database))
    held = {(each.robot, each.name): each.push for each in fleet.list_pushes()}
    robots = [f"pusher{number}" for number in range(plan.robots)]
    acknowledged = [(robot, name) for robot in robots for name in (home / robot / ACKNOWLEDGED).read_text().split()]
    lost = sum(key not in held or not _is_whole(fleet, key[0], held[key], home) for key in set(acknowledged))
    merged = merge(fleet, base, home / "late")
    fleet.close()
    lessons = [lesson for robot in robots for lesson in _read_lessons(home / robot / LEARNED)]
    K, W = compare_with_one_learner(home / "late", lessons, plan.features)
    reads = [np.loadtxt(home / f"reader{number}" / COUNTED) for number in range(plan.robots)]
    pulls, unsound, frames, offline = np.sum(reads, axis=0).astype(int).tolist()
    times = np.concatenate([np.atleast_1d(np.loadtxt(home / robot / COUNTED)) for robot in robots])
    middle, slow = (1e3 * np.percentile(times, [50, 95])).tolist()
    counted = len(set(acknowledged)), lost, pulls, unsound, frames, offline, failures, merged.joined.lessons
    return Found(*counted, K, W, outage, (middle, slow))


def _is_whole(fleet: PostgresFleet, robot: str, sent: Push, home: Path) -> bool:
    for file in sent.files:
        path = home / "checked"
        path.unlink(missing_ok=True)
        fill(path, file, lambda name, _: fleet.fetch(robot, name), "the server")
    return bool(sent.files)


def _read_lessons(path: Path) -> list[Lesson]:
    """One for each row: what one learner learns of them is the same."""
    with np.load(path) as kept:
        rows, weights, cells = kept["rows"], kept["weights"], kept["cells"].tolist()
    nothing = np.zeros(0)
    return [
        Lesson(rows[at : at + 1], weights[at : at + 1], 0, (column, row), 0, b"", nothing, None)
        for at, (column, row) in enumerate(cells)
    ]


def count_refusals(server: Server, store: Path) -> tuple[int, list[str]]:
    """How many tries there were, and what was allowed or left a trace."""
    staged, allowed = stage(server, str(store)), []
    for name, attempt in TRIES.items():
        before = staged.snapshot()
        with psycopg.connect(staged.address("tried1"), autocommit=True) as connection:
            outcome = attempt(connection, staged)
        if outcome != "refused" or staged.snapshot() != before:
            allowed.append(name)
    return len(TRIES), allowed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--robots", type=int, default=8, help="so many push, and so many read")
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--binaries", type=Path, default=None, help="of PostgreSQL (default: those that are found)")
    given = parser.parse_args()
    binaries = [given.binaries] if given.binaries else find_binaries()
    if not binaries:
        parser.error("no PostgreSQL server: install the package pgserver, or Debian's postgresql")
    map_world(given.features)
    with TemporaryDirectory(prefix="tmapr-fleet-") as folder, serving(binaries[0]) as server:
        ((version,),) = server.execute("SHOW server_version")
        found = run_load(server, Path(folder), Plan(given.seconds, given.robots, given.features))
        tries, allowed = count_refusals(server, Path(folder) / "tried")
    metrics = show(
        f"{given.robots} robots push, {given.robots} read, {given.seconds:g} s, PostgreSQL {version}, killed once",
        [
            Metric("pushes acknowledged", found.acknowledged, "", "higher", 4 * given.robots),
            Metric("of these lost or damaged", found.lost, "", "lower", 0),
            Metric("robots that ended with an error", found.failures, "", "lower", 0),
            Metric("lessons merged", found.lessons, "", "higher"),
            Metric("K of the merge and of one learner, apart by", found.K, "", "lower", 1e-8),
            Metric("W of the merge and of one learner, apart by", found.W, "", "lower", 1e-8),
            Metric("pulls of readers", found.pulls, "", "higher", 4 * given.robots),
            Metric("of these with a map that is not what was published", found.unsound, "", "lower", 0),
            Metric("frames localized by readers", found.frames, "", "higher"),
            Metric("of these while nobody answered", found.frames_offline, "", "higher", 1),
            Metric("nobody answered for", found.outage, "s"),
            Metric("a push until it is acknowledged, median", found.push_ms[0], "ms"),
            Metric("a push until it is acknowledged, 95 %", found.push_ms[1], "ms"),
            Metric("things a robot tried that it must not do", tries, "", "higher", 12),
            Metric("of these allowed", len(allowed), "", "lower", 0),
        ],
    )
    notes = {"server": version, "features": given.features, "seconds": given.seconds, "allowed": allowed}
    conclude("fleet_load", metrics, notes)


if __name__ == "__main__":
    main()
