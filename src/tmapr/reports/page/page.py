"""The page of a run, or of several: what was found, the map, the numbers, the figures, how it came about."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.runs import Errors
from tmapr.config import Settings, dump_toml
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.files import TABLE_BYTES, read_bytes
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.page.document import render_document
from tmapr.reports.page.findings import describe_findings
from tmapr.reports.page.footage import Album, Footage, share_frames
from tmapr.reports.page.glossary import WORDING, render_glossary
from tmapr.reports.page.overview import render_overview
from tmapr.reports.page.sequence import render_sequence
from tmapr.reports.reported import ReportedRun, label_runs
from tmapr.reports.tables.errors import name_alignment, warn_of
from tmapr.reports.tables.stream import tabulate_forgetting, tabulate_stream
from tmapr.reports.tables.table import Table, TableColumn


def render_page(runs: Sequence[ReportedRun]) -> str:
    """The report of one run, or of several with all of them on one map first."""
    labels = label_runs(runs)
    album, frames = Album(), share_frames(sum(len(run.sequences) for run in runs))
    if len(runs) == 1:
        title = f"{labels[0]}: localization report"
        body = element("h1", {}, escape(labels[0])) + _render_run(runs[0], album, frames, 2, "1")
    else:
        title = f"{len(runs)} runs compared"
        body = element("h1", {}, escape(title)) + render_overview(runs, labels)
        for number, (name, run) in enumerate(zip(labels, runs, strict=True), start=1):
            body += element("h2", {"id": f"run-{number}"}, escape(name))
            body += _render_run(run, album, frames, 3, str(number))
    marks = "".join(map(_render_mark, runs))
    whole = body + render_glossary(body)
    return render_document(title, whole, script="explorer.js", pictures=album.uris, marks=marks)


def is_shown(page: Path, errors: Errors) -> bool:
    """Whether a page shows these errors of a run."""
    try:
        return _name_errors(errors).encode() in read_bytes(page, TABLE_BYTES)
    except (OSError, InputError):
        return False


def _render_mark(run: ReportedRun) -> str:
    """By which a page is known to be of a run's errors, or of older ones."""
    return element("meta", {"name": "tmapr", "content": _name_errors(run.errors)})


def _name_errors(errors: Errors) -> str:
    return f"{errors.evaluated_sha256} {errors.alignment}"


def _render_run(run: ReportedRun, album: Album, frames: int, level: int, name: str) -> str:
    """What was found, every sequence, then how it came about; `level` is that of the first headings inside."""
    parts = [element("p", {"class": "result"}, escape(describe_findings(sequence))) for sequence in run.sequences]
    parts += [element("p", {"class": "warning", "role": "note"}, escape(words)) for words in warn_of(run.errors)]
    for number, sequence in enumerate(run.sequences, start=1):
        footage = Footage.of(run, sequence, frames)
        parts.append(render_sequence(run, sequence, album, footage, level, f"explorer-{name}-{number}"))
    tables = (tabulate_stream(run.errors), tabulate_forgetting(run.errors.stream))
    shown = [table.html(WORDING) for table in tables if table and table.rows]
    parts += [element(f"h{level}", {}, "Stream"), *shown] if shown else []
    parts += [element(f"h{level}", {}, "How this run came about"), _render_list(_list_facts(run))]
    changes = element("div", {"class": "settings"}, tabulate_changes(run.experiment).html())
    parts.append(_fold("Settings that differ from the defaults", changes))
    parts.append(_fold("Every setting", element("pre", {}, escape(dump_toml(run.experiment)))))
    parts.append(_fold("Provenance", _render_list(_list_provenance(run))))
    return element("section", {}, *parts)


def _fold(title: str, inside: str) -> str:
    return element("details", {}, element("summary", {}, title), inside)


def _list_facts(run: ReportedRun) -> dict[str, str]:
    """What was run."""
    data, errors = run.experiment.data, run.errors
    frame = " ".join(str(part) for part in (errors.frame.kind, errors.frame.zone, errors.frame.origin) if part)
    return {
        "run": str(run.folder.path),
        "data": f"{data.root} ({data.layout})",
        "reference": ", ".join(data.references),
        "adapted to": ", ".join(data.adapt) or "nothing",
        **({"streamed": ", then ".join(data.stream)} if data.stream else {}),
        **({"labels while streaming": errors.stream.labels} if errors.stream else {}),
        "tested on": ", ".join(data.test) or "nothing",
        "labels while testing": errors.labels,
        "alignment": name_alignment(errors.alignment),
        "coordinates": frame,
        "settings": errors.settings_sha256[:12],
        "tmapr": run.provenance.tmapr,
    }


def _list_provenance(run: ReportedRun) -> dict[str, str]:
    plain = {name: value for name, value in run.provenance if not isinstance(value, Mapping | Document | None)}
    return {name: str(value) for name, value in plain.items()}


def _render_list(entries: Mapping[str, str]) -> str:
    pairs = (element("dt", {}, escape(name)) + element("dd", {}, escape(value)) for name, value in entries.items())
    return element("dl", {}, *pairs)


def tabulate_changes(experiment: Experiment) -> Table:
    """One row for each value that differs."""
    columns = ("setting", "here", "default", "meaning")
    rows = tuple(_list_changes(experiment, Experiment(), ""))
    return Table(tuple(TableColumn(name, name) for name in columns), rows)


def _list_changes(settings: Settings, defaults: Settings, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in type(settings).model_fields.items():
        here, default = settings.__dict__[name], defaults.__dict__[name]
        if isinstance(here, Settings) and isinstance(default, type(here)):
            yield from _list_changes(here, default, prefix if name == settings.unnamed else f"{prefix}{name}.")
        elif here != default:
            yield f"{prefix}{name}", _format_value(here), _format_value(default), field.description or ""


def _format_value(value: object) -> str:
    if isinstance(value, Settings):
        return value.model_dump_json()
    return "none" if value is None else json.dumps(value, ensure_ascii=False, default=str)
