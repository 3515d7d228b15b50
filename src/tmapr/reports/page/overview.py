"""Several runs at a glance: one map for those that drove on the same ground, what each found, and their table."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tmapr.evaluation.loops import RADIUS, opportunities
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.figures.runs_map import NamedRun, draw_runs, list_run_keys
from tmapr.reports.figures.trajectory_map import name_axes
from tmapr.reports.page.findings import describe_findings
from tmapr.reports.page.glossary import WORDING
from tmapr.reports.page.zooming import render_map
from tmapr.reports.reported import ReportedRun
from tmapr.reports.tables.errors import tabulate_runs

_SHARED = 0.5
"""Part of the references of a map that must lie beside those of another, for both to be of one place."""


def render_overview(runs: Sequence[ReportedRun], labels: Sequence[str]) -> str:
    """What was found, the maps, the table, and links to each run."""
    named = [NamedRun(name, number, run) for number, (name, run) in enumerate(zip(labels, runs, strict=True))]
    found = (element("li", {}, *_tell_run(each)) for each in named)
    maps = (
        element(
            "div",
            {"class": "overview"},
            render_map(draw_runs(group, name_axes(group[0].run.errors.frame)), _MAP, list_run_keys(group)),
        )
        for group in group_runs(named)
    )
    table = element("div", {"class": "compared"}, tabulate_runs(runs).html(WORDING, "All runs"))
    return "".join([element("ul", {"class": "result"}, *found), *maps, element("h2", {}, "The numbers"), table])


def group_runs(runs: Sequence[NamedRun]) -> list[list[NamedRun]]:
    """The runs that a common map can show, in their order: each joins the first group that it shares ground with."""
    groups: list[list[NamedRun]] = []
    for each in runs:
        home = next((group for group in groups if any(share_ground(each.run, other.run) for other in group)), None)
        if home is None:
            groups.append([each])
        else:
            home.append(each)
    return groups


def share_ground(one: ReportedRun, other: ReportedRun) -> bool:
    """Whether two maps lie in one frame of coordinates, near each other.

    Local coordinates start anywhere: there, only the same data or half of the same references prove the same ground.
    """
    if one.errors.frame != other.errors.frame:
        return False
    here, there = one.memory.positions, other.memory.positions
    if one.errors.frame.kind == "local" and one.experiment.data.root != other.experiment.data.root:
        few, many = sorted((here, there), key=len)
        return bool(opportunities(few, many, RADIUS).mean() >= _SHARED)
    return _measure_gap(here, there) <= max(_measure_size(here), _measure_size(there))


def _measure_gap(here: Float[np.ndarray, "n 2"], there: Float[np.ndarray, "m 2"]) -> float:
    """Metres between the boxes around both."""
    between = np.maximum(there.min(axis=0) - here.max(axis=0), here.min(axis=0) - there.max(axis=0))
    return float(np.hypot(*np.maximum(between, 0.0)))


def _measure_size(positions: Float[np.ndarray, "n 2"]) -> float:
    return float(np.hypot(*np.ptp(positions, axis=0)))


def _tell_run(each: NamedRun) -> list[str]:
    name = element("a", {"href": f"#run-{each.number + 1}"}, escape(each.name))
    return [name, ": ", escape(" ".join(map(describe_findings, each.run.sequences)))]


_MAP = (
    "The fused track of each run in its colour, solid where it is localized and dotted elsewhere, over what was mapped."
    " A key takes its run away and brings it back."
)
