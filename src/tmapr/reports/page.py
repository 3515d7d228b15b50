"""One page of HTML that needs nothing beside itself: no script, no font, no picture from elsewhere.

It is well-formed XML too, so that a mistake in it shows in a test and not in somebody's browser.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files

from tmapr.config import dump_toml
from tmapr.reports.differences import changed_settings
from tmapr.reports.evidence import RunEvidence, labelled
from tmapr.reports.explorer import data_block
from tmapr.reports.footage import frames_each
from tmapr.reports.markup import element, escaped
from tmapr.reports.pictures import Album
from tmapr.reports.sequence import sequence_section
from tmapr.reports.summary import alignment, comparison, sentence, warnings

_HEAD = (
    '<meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>'
    '<link rel="icon" href="data:,"/>'
)


def page(runs: Sequence[RunEvidence]) -> str:
    """The report of one run, or of several with their comparison first."""
    labels = labelled(runs)
    album, frames = Album(), frames_each(sum(len(run.sequences) for run in runs))
    if len(runs) == 1:
        title = f"{labels[0]}: localization report"
        body = element("h1", {}, escaped(labels[0])) + _run_section(runs[0], album, frames, 2)
    else:
        title = f"{len(runs)} runs compared"
        body = element("h1", {}, escaped(title)) + element("div", {"class": "compared"}, comparison(runs).html())
        body += _contents(labels)
        for number, (name, run) in enumerate(zip(labels, runs, strict=True), start=1):
            body += element("h2", {"id": f"run-{number}"}, escaped(name)) + _run_section(run, album, frames, 3)
    # A parser of XML sees no markup between these marks; to one of HTML they are comments of the script.
    script = f"//<![CDATA[\n{_own('explorer.js')}//]]>\n"
    named = element("title", {}, escaped(title))
    head = element("head", {}, _HEAD, _policy(script), named, element("style", {}, _own("page.css")))
    parts = (element("main", {}, body), data_block(album.uris, {"id": "pictures"}), element("script", {}, script))
    whole = element("html", {"lang": "en"}, head, element("body", {}, *parts))
    return f"<!DOCTYPE html>\n{whole}\n"


def _own(name: str) -> str:
    return files("tmapr.reports").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Whatever a name might contain, a browser that obeys this loads nothing and runs one script, known by its hash."""
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{known}'"
    return element("meta", {"http-equiv": "Content-Security-Policy", "content": allowed})


def _contents(labels: Sequence[str]) -> str:
    links = (element("a", {"href": f"#run-{number}"}, escaped(name)) for number, name in enumerate(labels, start=1))
    return element("p", {"class": "note"}, "Each run: ", " · ".join(links))


def _run_section(run: RunEvidence, album: Album, frames: int, level: int) -> str:
    """Headline, every test sequence, settings, provenance; `level` is that of the first headings inside."""
    results = (sentence(name, entry) for name, entry in run.errors["test"].items())
    parts = [element("p", {"class": "result"}, escaped(words)) for words in results]
    parts += [element("p", {"class": "warning", "role": "note"}, escaped(words)) for words in warnings(run.errors)]
    parts.append(_listed(_facts(run)))
    parts += [sequence_section(run, sequence, album, frames, level) for sequence in run.sequences]
    parts += [element(f"h{level}", {}, "Settings that differ from the defaults")]
    parts.append(element("div", {"class": "settings"}, changed_settings(run.experiment).html()))
    toml = element("pre", {}, escaped(dump_toml(run.experiment)))
    parts.append(element("details", {}, element("summary", {}, "Every setting"), toml))
    parts += [element(f"h{level}", {}, "Provenance"), _listed(_provenance(run))]
    return element("section", {}, *parts)


def _facts(run: RunEvidence) -> dict[str, str]:
    """What was run."""
    data, errors = run.experiment.data, run.errors
    frame = " ".join(str(part) for part in errors["frame"].values() if part)
    return {
        "run": str(run.folder.path),
        "data": f"{data.root} ({data.layout})",
        "reference": str(data.reference),
        "adapted to": ", ".join(data.adapt) or "nothing",
        "tested on": ", ".join(data.test),
        "labels while testing": str(errors["labels"]),
        "alignment": alignment(errors),
        "coordinates": frame,
        "settings": errors["settings_sha256"][:12],
        "tmapr": str(run.provenance["tmapr"]),
    }


def _provenance(run: RunEvidence) -> dict[str, str]:
    return {name: str(value) for name, value in run.provenance.items() if not isinstance(value, Mapping)}


def _listed(entries: Mapping[str, str]) -> str:
    pairs = (element("dt", {}, escaped(name)) + element("dd", {}, escaped(value)) for name, value in entries.items())
    return element("dl", {}, *pairs)
