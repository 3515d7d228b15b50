"""The page of a map: the map first, then what it covers, what looks alike in it, and how it was made."""

import json
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.explorer import render_explorer
from tmapr.reports.atlas.pictures import SHOWN_TWINS, Thumbnails, gather_thumbnails, list_shown
from tmapr.reports.atlas.twins import Twin
from tmapr.reports.atlas.words import (
    count_of,
    describe_alike,
    describe_map,
    describe_repeats,
    describe_similarity,
    describe_twin,
    format_way,
    tabulate_coverage,
    tabulate_gaps,
    tabulate_left_out,
    tabulate_places,
)
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import panel, photograph
from tmapr.reports.page.document import render_document
from tmapr.reports.page.footage import Album


def render_atlas(atlas: Atlas) -> str:
    """One page of HTML that needs nothing beside itself."""
    name, album = f"Map {atlas.source.name}", Album()
    thumbnails = gather_thumbnails(atlas)
    parts = [
        element("h1", {}, escape(name)),
        *(element("p", {"class": "result"}, escape(words)) for words in (describe_map(atlas), describe_alike(atlas))),
        render_explorer(atlas, thumbnails, album),
        *(element("p", {"class": "note"}, escape(words)) for words in thumbnails.absent),
        *_render_coverage(atlas),
        *_render_twins(atlas, thumbnails),
        *_render_left_out(atlas),
        *_render_provenance(atlas),
    ]
    return render_document(name, "".join(parts), script="atlas.js", pictures=album.uris)


def _render_coverage(atlas: Atlas) -> Iterator[str]:
    yield element("h2", {}, "What it covers")
    yield tabulate_coverage(atlas).html()
    gaps = tabulate_gaps(atlas)
    if gaps:
        yield gaps.html()
        yield _note(_GAPS.format(tolerance=atlas.stations.tolerance))
    standing = count_of(atlas.coverage.standing, "reference")
    stood = f" At {standing} the camera had not moved on since the one before." if atlas.coverage.standing else ""
    yield element("p", {}, escape(f"{describe_repeats(atlas)}{stood}"))
    yield element("h2", {}, "Places")
    yield tabulate_places(atlas).html()
    yield _note(_PLACES)


def _render_twins(atlas: Atlas, thumbnails: Thumbnails) -> Iterator[str]:
    yield element("h2", {}, "Where it may take one place for another")
    yield _note(
        _TWINS.format(apart=2 * atlas.stations.tolerance, length=2 * atlas.stations.tolerance, step=atlas.stations.step)
    )
    if not atlas.twins:
        yield element("p", {}, escape(describe_alike(atlas)))
    for number, twin in enumerate(atlas.twins[:SHOWN_TWINS]):
        yield _render_twin(atlas, thumbnails, number, twin)
    rest = atlas.twins[SHOWN_TWINS:]
    if rest:
        total = format_way(sum(twin.metres for twin in rest))
        listed = (
            element("li", {}, escape(f"{describe_twin(atlas, twin)}; {describe_similarity(atlas, twin)}"))
            for twin in rest[:_LISTED]
        )
        summary = element("summary", {}, escape(f"{count_of(len(rest), 'more pair')}, {total}"))
        more = [_note(f"{len(rest) - _LISTED} shorter ones are not listed.")] if len(rest) > _LISTED else []
        yield element("details", {}, summary, element("ol", {"start": str(SHOWN_TWINS + 1)}, *listed), *more)


def _render_twin(atlas: Atlas, thumbnails: Thumbnails, number: int, twin: Twin) -> str:
    title = element("h3", {}, escape(f"{number + 1}. {describe_twin(atlas, twin)}"))
    button = element("button", {"type": "button", "data-twin": str(number), "hidden": "hidden"}, "show on the map")
    told = element("p", {"class": "note"}, escape(f"{describe_similarity(atlas, twin)}. "), button)
    panels = []
    for station in list_shown(twin):
        row = int(atlas.stations.rows[station])
        shot = photograph(thumbnails.found.get(station), atlas.memory.describe(row))
        panels.append(panel(shot, f"frame {atlas.memory.frames[row]}"))
    shots = [element("div", {"class": "panels pairs"}, *panels)] if thumbnails.found else []
    return element("section", {"class": "twin"}, title, told, *shots)


def _render_left_out(atlas: Atlas) -> Iterator[str]:
    yield element("h2", {}, "Frames that are no references")
    table = tabulate_left_out(atlas)
    yield table.html() if table else element("p", {}, "Every frame between the first and the last one is a reference.")


def _render_provenance(atlas: Atlas) -> Iterator[str]:
    yield element("h2", {}, "How it was made")
    yield _render_list(_list_facts(atlas))
    origin = atlas.source.environment.origin
    settings = dict(_flatten(origin.settings)) | {f"file of {name}": value for name, value in origin.files.items()}
    if settings:
        body = _render_list(settings)
        yield element("details", {}, element("summary", {}, "Perception that it was made with"), body)


def _list_facts(atlas: Atlas) -> dict[str, str]:
    source, environment = atlas.source, atlas.source.environment
    frame = " ".join(
        str(part) for part in (environment.frame.kind, environment.frame.zone, environment.frame.origin) if part
    )
    x, y = atlas.grid.origin.tolist()
    data = source.experiment.data if source.experiment else None
    width = atlas.memory.descriptors.shape[1]
    facts = {
        "map": str(source.path),
        **({"data": f"{data.root} ({data.layout})"} if data else {}),
        "traverses": ", ".join(atlas.traverses),
        "coordinates": frame,
        "digest": environment.digest,
        "encoder": str(environment.origin.settings.get("encoder", "not noted")),
        "descriptor": f"{width} numbers",
        "keypoints": "beside the map" if atlas.memory.keypoints else "none",
        "grid": f"{atlas.grid.cell:g} m, from {x:.1f}, {y:.1f} m",
        "typical speed": f"{atlas.memory.reference.speed:.1f} m/s",
    }
    facts |= {f"upkeep, step {number + 1}": step.told for number, step in enumerate(environment.past)}
    percepts = {name: marks.percepts for name, marks in environment.made_from.items()}
    return facts | {f"percepts of {name}": mark for name, mark in percepts.items()}


def _flatten(settings: Mapping[str, JsonValue], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", "none" if value is None else json.dumps(value, ensure_ascii=False).strip('"')


def _note(words: str) -> str:
    return element("p", {"class": "note"}, escape(words))


def _render_list(entries: Mapping[str, str]) -> str:
    pairs = (element("dt", {}, escape(name)) + element("dd", {}, escape(value)) for name, value in entries.items())
    return element("dl", {}, *pairs)


_LISTED = 40
_GAPS = (
    "A gap is a step in whose middle no reference of any traverse is within {tolerance:g} m: nobody can be localized"
    " there."
)
_PLACES = (
    "A place is a cell of a grid over the map; the classifier knows places, the search the references in them. A place"
    " with one reference has a single view to be known by."
)
_TWINS = (
    "Compared are stretches of {length:g} m that lie more than {apart:g} m apart on the ground, so a street that was"
    " driven twice is no look-alike of itself. Two look alike if they are at least three quarters as similar as views"
    " {step:.1f} m apart on one street are, counted from what any two places have. The worst come first: long and"
    " similar. At night, and where the camera comes back after a detour, these are the places to watch."
)
