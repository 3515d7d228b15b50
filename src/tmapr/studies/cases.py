"""A place is mapped, adapted to and asked, case by case: each drive, at each rate, as it was, disturbed, or elsewhere.

Map and adaptation are shared by the methods that agree on places, search and the kind of tracking, and so is what was
recognised: the others of their settings are tried on that. Each case is recognised anew, with nothing left of others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tmapr.artifacts.documents.decisions import AskedDrive
from tmapr.config.dump import tree_digest
from tmapr.config.tree import as_tree
from tmapr.evaluation.decisions import Judged, Mapped, judge_decisions
from tmapr.evaluation.errors import measure_consistency, position_errors
from tmapr.evaluation.loops import opportunities
from tmapr.exceptions import InputError
from tmapr.localizer import Localizer
from tmapr.retrieval.memory import Memory
from tmapr.running.progressive import RecognisedDrive, adapt, recognise_drive
from tmapr.studies.disturbances import DISTURBANCES, Disturbed, Scene, move_away, needs_another_place, pick_rows
from tmapr.studies.scoring import gather_judged
from tmapr.studies.sequence_baselines import answer_first, answer_lines
from tmapr.studies.study_plan import AskedMethod, Disturb, StudyPlan
from tmapr.studies.worlds import OpenPlace, StudyPlace
from tmapr.system import System, build, make_map


@dataclass(frozen=True, slots=True)
class Case:
    """A drive of a place, at a rate; of another place, it is asked as a foreign one."""

    drive: str
    every: int
    disturbance: Disturb | None = None
    foreign: StudyPlace | None = None

    @property
    def title(self) -> str:
        """As rows and tables have it."""
        where = f"{self.foreign.name}: " if self.foreign else ""
        what = f", {self.disturbance.name}" if self.disturbance else ""
        return f"{where}{self.drive}{what}{f', every {self.every}' if self.every > 1 else ''}"


@dataclass(frozen=True, slots=True)
class PlaceCases:
    """All that a place is asked; `beside` is another one, whose frames disturbances may show."""

    place: StudyPlace
    cases: tuple[Case, ...]
    beside: StudyPlace | None

    @property
    def places(self) -> list[StudyPlace]:
        """All that have to be made ready."""
        return [
            self.place,
            *([self.beside] if self.beside else []),
            *(each.foreign for each in self.cases if each.foreign),
        ]

    def digest(self) -> str:
        """Names what the place is made from, and what it is asked."""
        told = [[case.title, case.disturbance.model_dump() if case.disturbance else None] for case in self.cases]
        others = {each.name: each.digest() for each in self.places}
        return tree_digest({"place": self.place.name, "cases": told, "made_from": others})


def list_cases(plan: StudyPlan, place: StudyPlace, places: Sequence[StudyPlace]) -> PlaceCases:
    """What a plan asks a place."""
    others = [each for each in places if each.site != place.site and each.encoded == place.encoded]
    cases = [Case(drive, every) for drive in place.drives for every in plan.every]
    cases += [
        Case(drive, every, disturbance)
        for disturbance in plan.disturbance
        for drive in place.drives
        if drive in disturbance.drives
        for every in plan.every
    ]
    if plan.foreign:
        cases += [Case(drive, every, foreign=each) for each in others for drive in each.drives for every in plan.every]
    # The next one, and of the same kind if there is one.
    after = sorted(others, key=lambda each: (each.kind != place.kind, places.index(each) < places.index(place)))
    shows = any(needs_another_place(each.name) for each in plan.disturbance)
    if (shows and not after) or (plan.foreign and len(places) == 1):
        raise InputError(f"{plan.name}: {place.name} has no other place beside it to show frames of; ask two or more")
    beside = after[0] if shows else None
    return PlaceCases(place, tuple(cases), beside)


def ask_place(
    asked: PlaceCases, methods: Sequence[AskedMethod]
) -> Iterator[tuple[AskedMethod, dict[str, AskedDrive], float]]:
    """What each method makes of every case, by title, and the spacing of its map, group by group of methods."""
    opened = {place.name: place.open() for place in asked.places}
    here = opened[asked.place.name]
    groups: dict[str, list[AskedMethod]] = {}
    for method in methods:
        groups.setdefault(_name_group(method.system), []).append(method)
    for group in groups.values():
        localizer = _prepare(group[0].system, here)
        memory = localizer.memory
        mapped = Mapped(memory.positions[memory.order], here.twins)
        found: dict[str, dict[str, AskedDrive]] = {method.name: {} for method in group}
        for case in asked.cases:
            recording, since = _meet(case, asked, opened, mapped)
            drive = recognise_drive(localizer, recording)
            for method in group:
                found[method.name][case.title] = _judge(case, method, drive, mapped, since)
        yield from ((method, found[method.name], mapped.spacing) for method in group)


def _name_group(system: System) -> str:
    """What a map, and what is recognised on it, follows from."""
    return tree_digest(as_tree(system.places) | {"of": [as_tree(system.retrieval), system.tracking.method]})


def _prepare(system: System, here: OpenPlace) -> Localizer:
    localizer = build(system, make_map(system, here.reference))
    localizer.expect_head(here.head_error)
    if here.adapted is not None:
        adapt(localizer, here.adapted, range(len(here.adapted)))
    return localizer


def _meet(case: Case, asked: PlaceCases, opened: Mapping[str, OpenPlace], mapped: Mapped) -> Disturbed:
    """The drive as it is met."""
    recording = opened[(case.foreign or asked.place).name].drives[case.drive]
    if case.every > 1:
        recording = pick_rows(recording, range(0, len(recording), case.every))
    if case.foreign:
        return move_away(recording), 0
    if case.disturbance is None:
        leaves = case.drive in ("away", "turn")
        return recording, mapped.return_row(recording.truth[recording.known]) if leaves else 0
    other = next(iter(opened[asked.beside.name].drives.values())) if asked.beside else recording
    start, stop = (round(share * len(recording)) for share in (case.disturbance.begin, case.disturbance.end))
    scene = Scene(recording, mapped.positions, other, max(start, 1), stop, asked.place.seed or 0)
    return DISTURBANCES[case.disturbance.name](scene)


def _judge(case: Case, method: AskedMethod, drive: RecognisedDrive, mapped: Mapped, since: int) -> AskedDrive:
    system = method.system
    estimates = drive.replay(system.tracking, system.fusion)
    judged = replace(gather_judged(drive, estimates), nearest=_find_nearest(drive, drive.memory))
    if method.baseline == "first":
        judged = answer_first(judged)
    if method.baseline == "sequence":
        judged = answer_lines(judged, drive, mapped)
    return summarize_case(case, judged, mapped, since)


def _find_nearest(drive: RecognisedDrive, memory: Memory) -> np.ndarray:
    """Where the most similar reference of the whole map lies, for each frame with a true position."""
    views = np.array([percept.descriptor for percept in drive.recording.percepts], dtype=np.float32)
    nearest = memory.positions[(views @ memory.descriptors.T).argmax(axis=1)]
    usable = np.array([percept.fault is None for percept in drive.recording.percepts])
    return np.where(usable[:, None], nearest, np.nan)[drive.recording.known]


def summarize_case(case: Case, judged: Judged, mapped: Mapped, since: int) -> AskedDrive:
    """What was claimed, and how good that was where the map is."""
    found = judge_decisions(judged, mapped, since)
    on = judged.localized & opportunities(judged.truth, mapped.positions, mapped.tolerance)
    errors, firsts = (position_errors(each, judged.truth)[on] for each in (judged.estimated, judged.first))
    seen, some = firsts[~np.isnan(firsts)], bool(on.any())
    consistency = measure_consistency((judged.estimated - judged.truth)[on], judged.covariances[on]) if some else None
    return AskedDrive(
        **found.model_dump(),
        drive=case.drive,
        every=case.every,
        disturbance=case.disturbance.name if case.disturbance else None,
        away=case.foreign is not None,
        localized_on_map=int(on.sum()),
        wrong_on_map=int((errors > mapped.tolerance).sum()),
        median_m=float(np.median(errors)) if some else None,
        first_median_m=float(np.median(seen)) if len(seen) else None,
        localized_rmse=float(np.sqrt(np.mean(errors**2))) if some else None,
        localized_coverage95=consistency.coverage95 if consistency else None,
    )
