"""What a robot may meet, done to recorded drives: useless pose heads, wrong clocks, gaps, noise, being carried away.

    python benchmarks/sabotage.py [--method NAME] [--against NAME] [--choosing] [--workers N]

The night drives of four worlds with a pose head, one of each kind, in odd styles, are replayed with default settings:
whatever does not change a descriptor is not recognised again. Rows are kept in benchmarks/rows/sabotage/METHOD, one
file a world, and what is there is not computed again. A stretch that is disturbed is the middle fifth of the drive.
`wrong` and `wrong, m` are frames `localized` too far off and the metres driven in one stretch of them; `back after`
counts the metres driven on the map from the disturbance's end, or from the start, until it is `localized` and right.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


from decision_tables import COLUMNS, cell, show_paired, show_table
from proving import CHOOSING, REPORTING, Ground, make_ready, work_on_each
from proving_rows import Row, find_worlds, gather_rows, judge_drive, list_missing, load_rows, make_parser, make_row
from sabotages import POSE_HEADS, SABOTAGES, Sabotaged, Scene
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.evaluation.decisions import Mapped


def run_world(ground: Ground) -> Row:
    """Do everything to one world's night."""
    grounds = [each for each in _list_worlds(ground) if each.sabotaged]
    names = [each.name for each in grounds]
    other = replace(grounds[(names.index(ground.name) + 1) % len(grounds)], trained=ground.trained)
    scene = Scene(make_ready(ground), make_ready(other), make_ready(_find_alike(ground)))
    found = {
        name: judge(scene, sabotage(scene))
        for name, sabotage in SABOTAGES.items()
        if ground.trained or name not in POSE_HEADS
    }
    return make_row(scene.ready, found)


def _list_worlds(ground: Ground) -> tuple[Ground, ...]:
    """The worlds that a world is one of."""
    return CHOOSING if ground.name in {each.name for each in CHOOSING} else REPORTING


def _find_alike(ground: Ground) -> Ground:
    """Another world of the same kind."""
    return next(each for each in _list_worlds(ground) if each.kind == ground.kind and each.name != ground.name)


def judge(scene: Scene, sabotaged: Sabotaged) -> Decisions:
    """What a sabotaged drive's estimates are worth."""
    system, own = scene.ready.system, sabotaged.memory
    mapped = Mapped(own.positions[own.order], scene.ready.mapped.twins) if own else scene.ready.mapped
    estimates = sabotaged.drive.replay(system.tracking, system.fusion)
    memory = own or scene.ready.environment.memory
    return judge_drive(sabotaged.drive, estimates, memory, mapped, sabotaged.since)


def show_rows(rows: Sequence[Row]) -> None:
    """A line a sabotage: a cell holds the worlds one after the other."""
    names = " / ".join(row.name for row in rows)
    lines = [
        (name, [" / ".join(cell(figure(row.drives[name])) for row in rows) for figure in COLUMNS.values()])
        for name in SABOTAGES
        if all(name in row.drives for row in rows)
    ]
    show_table(f"{names}; of nights of {rows[0].drives['nothing'].frames} frames", lines, COLUMNS)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--untrained", action="store_true", help="no world has a pose head; what is done to one is left out"
    )
    given = parser.parse_args()
    folder, worlds = find_worlds(given.choosing)
    kept = folder / "sabotage"
    grounds = [replace(ground, trained=not given.untrained) for ground in worlds if ground.sabotaged]
    if missing := list_missing(kept / given.method, grounds):
        # Each needs two others beside it; two processes that made one ready would write over each other.
        for ready in work_on_each(make_ready, [*grounds, *map(_find_alike, missing)], given.workers):
            print(f"{ready.ground.name}: ready", flush=True)
    rows = gather_rows(kept / given.method, grounds, run_world, given.workers)
    show_rows(rows)
    if given.against:
        other = load_rows(kept / given.against)
        shared = [(row, other[row.name]) for row in rows if row.name in other]
        lines = {
            name: [(row.drives[name], theirs.drives[name]) for row, theirs in shared]
            for name in SABOTAGES
            if all(name in row.drives for pair in shared for row in pair)
        }
        show_paired(lines, COLUMNS, given.against)


if __name__ == "__main__":
    main()
