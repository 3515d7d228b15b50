"""Worlds in styles that nothing was chosen on, and real sets: does it know where it is, and is that so?

    python benchmarks/styles.py [--method NAME] [--against NAME] [--choosing] [--workers N]

Twenty rendered worlds, five each of campus, city, valley and a city of copies, each in an odd style of its own: mapped
by day, adapted to one labelled drive in another weather, asked at night and on a night that leaves the map; four have a
pose head. Settings are the defaults. Rows are kept in benchmarks/rows/styles/METHOD, one file a world; what is there is
not computed again. Intervals are Student's over worlds. `--against` compares with kept rows of another method, world by
world. `--choosing` takes the even styles, of which nothing is kept in the repository and nothing may be reported.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from decision_tables import COLUMNS, Figure, Pairs, cell, mean_cell, show_paired, show_table
from proving import Ground, make_ready
from proving_rows import Row, find_worlds, gather_rows, judge_drive, load_rows, make_parser, make_row, measure_offset
from real_sets import REAL, gather_real
from tmapr.artifacts.documents.decisions import Decisions

SHOWN: dict[str, Figure] = {
    "first right": lambda each: each.first_right,
    "global right": lambda each: each.global_right,
    **COLUMNS,
    "off map": lambda each: each.off_localized / each.off_map if each.off_map else None,
}
"""The last is the share of frames farther than 20 m from every reference that were called `localized`."""

ENOUGH = {"aliased city": 0.7}
"""First candidates that must be right for a world's figures to bind; .8 elsewhere."""


def run_world(ground: Ground) -> Row:
    """Ask a world at night and on its detour."""
    ready = make_ready(ground)
    mapped, memory = ready.mapped, ready.environment.memory
    drives, offsets = {}, {}
    for name in ("night", "away"):
        drive = ready.recognise(name)
        estimates = drive.replay(ready.system.tracking, ready.system.fusion)
        truth = drive.recording.truth[drive.recording.known]
        since = mapped.return_row(truth) if name == "away" else 0
        drives[name] = judge_drive(drive, estimates, memory, mapped, since)
        offsets[name] = measure_offset(truth, mapped)
    return make_row(ready, drives, offsets)


def show_worlds(rows: Sequence[Row], drive: str) -> None:
    """A line a world."""
    lines = [
        (row.name, [f"{row.spacing:.1f}", *(cell(figure(row.drives[drive])) for figure in SHOWN.values())])
        for row in rows
        if drive in row.drives
    ]
    show_table(f"{drive}, every world", lines, ["spacing, m", *SHOWN])


def show_kinds(rows: Sequence[Row], drive: str) -> None:
    """A line a family: means over its worlds."""
    lines = []
    for kind in dict.fromkeys(row.kind for row in rows if drive in row.drives):
        own = [row.drives[drive] for row in rows if row.kind == kind and drive in row.drives]
        lines.append((f"{kind}, {len(own)} worlds", [mean_cell(map(figure, own)) for figure in SHOWN.values()]))
    show_table(f"{drive}, means over worlds [95 %]", lines, SHOWN)


def pair_rows(rows: Sequence[Row], other: Mapping[str, Row]) -> dict[str, Pairs]:
    """The drives of worlds that both methods have, by kind and drive."""
    pairs: dict[str, list[tuple[Decisions, Decisions]]] = {}
    for row in rows:
        for name, ours in row.drives.items() if row.name in other else ():
            pairs.setdefault(f"{row.kind}, {name}", []).append((ours, other[row.name].drives[name]))
    return dict(pairs)


def show_totals(rows: Sequence[Row]) -> None:
    """What the proving grounds are like, and the sums that bounds are on."""
    rendered = [row for row in rows if row.style is not None]
    nights = [row.drives["night"] for row in rendered]
    shares = [each.global_right or 0.0 for each in nights]
    binding = [row.name for row in rendered if (row.drives["night"].first_right or 0.0) >= ENOUGH.get(row.kind, 0.8)]
    drives = [each for row in rendered for each in row.drives.values()]
    wrong, frames = sum(each.wrong for each in drives), sum(each.frames for each in drives)
    off, away = sum(each.off_localized for each in drives), sum(each.off_map for each in drives)
    twins, beside = sum(each.twin_localized for each in drives), sum(each.twin_frames for each in drives)
    print(f"\nglobal retrieval right at night: {min(shares):.2f} to {max(shares):.2f} over {len(nights)} worlds")
    print(f"first candidate right often enough to bind: {len(binding)} of {len(rendered)} worlds")
    print(f"localized and wrong: {wrong} of {frames} frames, {1000 * wrong / frames:.1f} in 1000")
    worst = max(rendered, key=lambda row: max(each.wrong / each.frames for each in row.drives.values()))
    print(f"  most in {worst.name}: {max(each.wrong / each.frames for each in worst.drives.values()):.1%} of a drive")
    print(f"localized farther than 20 m from every reference: {off} of {away} frames; beside twins {twins} of {beside}")
    real = [each for row in rows if row.style is None for each in row.drives.values()]
    wrong, frames = sum(each.wrong for each in real), sum(each.frames for each in real)
    print(f"real sets: localized and wrong {wrong} of {frames} frames")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, default=REAL, help="folder of the real sets")
    given = parser.parse_args()
    folder, grounds = find_worlds(given.choosing)
    kept = folder / "styles"
    rows = gather_rows(kept / given.method, grounds, run_world, given.workers)
    if not given.choosing:
        rows += gather_real(kept / given.method, given.data)
    for drive in ("night", "away"):
        show_worlds(rows, drive)
        show_kinds(rows, drive)
    if given.against:
        show_paired(pair_rows(rows, load_rows(kept / given.against)), SHOWN, given.against)
    show_totals(rows)


if __name__ == "__main__":
    main()
