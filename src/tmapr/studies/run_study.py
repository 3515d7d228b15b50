"""A study: rows that are missing are computed, one place a process, and kept when they are finished.

A row is benchmarks/rows/STUDY/METHOD/PLACE.json. One that the present source makes with these settings from this data
is kept; every other is computed anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tmapr.artifacts.documents.decisions import StudyRow
from tmapr.exceptions import InputError
from tmapr.studies.ablation import run_jobs
from tmapr.studies.cases import PlaceCases, ask_place, list_cases
from tmapr.studies.provenance import describe_maker, digest_method, digest_source
from tmapr.studies.study_plan import AskedMethod, StudyPlan
from tmapr.studies.worlds import StudyPlace, list_places
from tmapr.types import Watch

AGAIN = "tmapr study PLAN"


@dataclass(frozen=True, slots=True)
class PlaceJob:
    """What is missing of a place: a method and its digest each."""

    asked: PlaceCases
    missing: tuple[tuple[AskedMethod, str], ...]
    source: str
    data: str


def run_study(
    plan: StudyPlan,
    rows: Path,
    home: Path,
    workers: int = 1,
    tell: Callable[[str], None] = lambda _: None,
    watch: Watch = iter,
) -> dict[str, list[StudyRow]]:
    """All rows of a plan by method, in the order of its places; those that are missing are computed."""
    folder, places = rows / plan.name, list_places(plan, home)
    jobs = list_jobs(plan, places, folder)
    if missing := [job for job in jobs if job.missing]:
        needed: dict[str, dict[str, StudyPlace]] = {}
        for place in (place for job in missing for place in job.asked.places):
            needed.setdefault(place.site, {})[place.name] = place
        tell(f"{plan.name}: {sum(len(job.missing) for job in missing)} rows are missing, of {len(missing)} places")
        try:
            run_jobs([partial(_prepare, tuple(each.values())) for each in needed.values()], workers, tell, watch)
            run_jobs([partial(_ask, job, folder) for job in missing], workers, tell, watch)
        except KeyboardInterrupt as stop:
            stop.add_note("what is rendered, encoded and asked is kept; the same command goes on")
            raise
    return {method.name: [load_row(_path(folder, method.name, place)) for place in places] for method in plan.method}


def list_jobs(plan: StudyPlan, places: Sequence[StudyPlace], folder: Path) -> list[PlaceJob]:
    """Of every place the methods that have no row of it."""
    source = digest_source()
    methods = [(method, digest_method(method)) for method in plan.method]
    jobs = []
    for place in places:
        asked = list_cases(plan, place, places)
        data = asked.digest()
        missing = tuple(
            (method, settings)
            for method, settings in methods
            if not is_current(_path(folder, method.name, place), source, settings, data)
        )
        jobs.append(PlaceJob(asked, missing, source, data))
    return jobs


def is_current(path: Path, source: str, settings: str, data: str) -> bool:
    """Whether a row is kept that the same would be computed for; one that cannot be read is not."""
    try:
        made = load_row(path).made_by
    except InputError:
        return False
    return (made.source, made.settings, made.data) == (source, settings, data)


def load_row(path: Path) -> StudyRow:
    """A row that is kept."""
    return StudyRow.load(path, AGAIN)


def load_rows(folder: Path) -> list[StudyRow]:
    """All kept rows of a method."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no rows of {folder.name!r}; methods with rows are the folders of {folder.parent}")
    return [load_row(path) for path in sorted(folder.glob("*.json"))]


def _path(folder: Path, method: str, place: StudyPlace) -> Path:
    return folder / method / f"{place.name}.json"


def _prepare(places: Sequence[StudyPlace]) -> str:
    """What shows the same streets lies in one folder, which only one process at a time may write."""
    for place in places:
        place.prepare()
    return f"{places[0].site}: ready"


@cache
def _digest_loaded() -> str:
    """Of the modules that this process has loaded."""
    return digest_source()


def _ask(job: PlaceJob, folder: Path) -> str:
    if _digest_loaded() != job.source:
        raise InputError("the source of tmapr was changed while the study began; give the same command again")
    place = job.asked.place
    settings = {method.name: digest for method, digest in job.missing}
    for method, drives, spacing in ask_place(job.asked, [method for method, _ in job.missing]):
        path = _path(folder, method.name, place)
        path.parent.mkdir(parents=True, exist_ok=True)
        StudyRow(
            name=place.name,
            kind=place.kind,
            style=place.world.style if place.world else None,
            seed=place.seed,
            spacing=spacing,
            drives=drives,
            made_by=describe_maker(job.source, settings[method.name], job.data),
        ).save(path)
    return f"{place.name}: asked"
