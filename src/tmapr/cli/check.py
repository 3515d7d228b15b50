"""`tmapr check`: what a recording holds, what is wrong with it, and whether a run would go through."""

from collections import Counter
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tmapr.cli.options import Overrides, Quiet, make_teller, make_watch

if TYPE_CHECKING:
    from tmapr.artifacts.sheet import Thumbnail
    from tmapr.data.examination import Defect, Examination
    from tmapr.data.sequence import Sequence
    from tmapr.perception.image import Image

_SAMPLE = 200
_LISTED = 10
_THUMBNAILS, _COLUMNS, _WIDTH = 12, 6, 224


class Part(NamedTuple):
    """A sequence and the roles it plays in the experiment, if it is one's."""

    sequence: "Sequence"
    roles: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name and its roles."""
        return f"{self.sequence.name} ({', '.join(self.roles)})" if self.roles else self.sequence.name


def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="an experiment's TOML file, a folder or a bag")],
    every: Annotated[bool, typer.Option("--all", help="read the pixels of all frames, not of 200 a sequence")] = False,
    sheet: Annotated[Path | None, typer.Option(metavar="PNG", help="write thumbnails of evenly spaced frames")] = None,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Look through recordings for bad files, frozen frames, gaps and jumps; writes nothing but the sheet."""
    from tmapr.data.examination import examine
    from tmapr.exceptions import InputError

    parts, image = open_parts(path, overrides or [])
    if sheet is not None:
        write_sheet(sheet, parts)
    stops: list[str] = []
    warnings = 0
    for part in parts:
        watch = make_watch(f"checking {part.sequence.name}", quiet)
        examination = examine(part.sequence, sample=None if every else _SAMPLE, watch=watch)
        stops += find_stops(part, examination, image)
        warnings += len(examination.defects)
        if not quiet:
            typer.echo("\n".join(format_table(part, examination)))
    if stops:
        raise InputError(stops[0] if len(stops) == 1 else f"{stops[0]} (and {len(stops) - 1} more that stop a run)")
    if not quiet:
        frames = f"{sum(len(part.sequence) for part in parts)} frames in {_count(len(parts), 'sequence')}"
        typer.echo(f"{frames}: {_count(warnings, 'warning') if warnings else 'all well'}, nothing that stops a run")


def open_parts(path: Path, overrides: list[str]) -> "tuple[list[Part], Image]":
    """The sequences that a path stands for, and how their images will be prepared."""
    from tmapr.data.opening import open_path
    from tmapr.exceptions import InputError
    from tmapr.experiment import open_data, read_experiment
    from tmapr.perception.image import Image

    if path.suffix.lower() != ".toml":
        if overrides:
            raise InputError(f"{path}: is no experiment file, so there is nothing to --set; leave {overrides[0]} out")
        return [Part(open_path(path))], Image()
    experiment = read_experiment(path, overrides, make_teller(quiet=False))
    experiment.perception.choose_plugin()
    experiment.system.tracking.choose_plugin()
    data = experiment.data
    roles: dict[str, tuple[str, ...]] = {}
    for role, names in data.roles.items():
        for name in names:
            roles[name] = (*roles.get(name, ()), role)
    if not roles:
        raise InputError(f"{path}: names no sequence; set data.reference, data.test or another role")
    # As a run does: positions of another kind than the first reference's are refused here too.
    first = {name: open_data(data, name) for name in data.references[:1]}
    shared = next((sequence.frame for sequence in first.values()), None)
    opened = {name: first[name] if name in first else open_data(data, name, shared) for name in roles}
    for name in (*data.references[1:], *data.adapt, *data.scored) if shared else ():
        if opened[name].frame != shared:
            raise InputError(
                f"{name}: its positions are in {opened[name].frame}, those of {data.references[0]} in {shared};"
                " convert one of them"
            )
    parts = [Part(opened[name], played) for name, played in roles.items()]
    return parts, experiment.perception.image


def find_stops(part: Part, examination: "Examination", image: "Image") -> Iterator[str]:
    """What would stop a run, or spoil it beyond use."""
    from tmapr.data.examination import DefectKind
    from tmapr.exceptions import InputError

    if not examination.frames:
        yield f"{part.title}: holds no frame"
    for defect in examination.defects:
        if defect.kind is DefectKind.UNREADABLE:
            yield f"{defect.file or f'{part.title}, row {defect.row}'}: {defect.detail}"
    if examination.read and not examination.usable:
        yield f"{part.title}: none of the {examination.read} images that were read can be used"
    if "reference" in part.roles and examination.frames and not examination.located:
        yield f"{part.title}: no frame has a position, and a map is made of positions; give x,y or a trajectory"
    for header in examination.headers:
        try:
            image.size_after_crop(header.height, header.width)
        except InputError as error:
            yield f"{part.title}: {error}"


def format_table(part: Part, examination: "Examination") -> Iterator[str]:
    """A sequence's figures, one to a line, and the first of its problems; what stops a run comes first."""
    from tmapr.data.examination import DefectKind

    found = Counter(defect.kind for defect in examination.defects)
    located = 100 * examination.located / max(examination.frames, 1)
    yield part.title
    yield f"  frames     {examination.frames}"
    yield f"  rate       {'unknown' if examination.rate is None else f'{examination.rate:.2f} Hz'}"
    yield f"  pauses     {found[DefectKind.PAUSE]}"
    yield f"  length     {examination.length:.1f} m"
    yield f"  positions  {located:.1f} %"
    yield f"  images     {'; '.join(map(str, examination.headers)) or 'none that can be read'}"
    if examination.counts:
        yield f"  counts     {examination.counts[0]}..{examination.counts[1]}"
    yield f"  health     {', '.join(f'{found[kind]} {kind}' for kind in DefectKind if found[kind]) or 'nothing found'}"
    yield f"  read       {_count(examination.read, 'image')}, {examination.usable} usable{_hint(examination)}"
    ranked = sorted(examination.defects, key=lambda defect: defect.kind is not DefectKind.UNREADABLE)
    yield from map(_format_defect, ranked[:_LISTED])
    if len(ranked) > _LISTED:
        yield f"    and {len(ranked) - _LISTED} more"


def write_sheet(path: Path, parts: list[Part]) -> None:
    """A contact sheet of all the sequences."""
    from tmapr.artifacts.images import write_png
    from tmapr.artifacts.sheet import draw_contact_sheet
    from tmapr.exceptions import InputError

    cells = [cell for part in parts for cell in draw_thumbnails(part.sequence)]
    if not cells:
        raise InputError(f"{path}: no sequence holds a frame to show")
    write_png(path, draw_contact_sheet(cells, _COLUMNS, _WIDTH))


def draw_thumbnails(sequence: "Sequence") -> "Iterator[Thumbnail]":
    """Evenly spaced frames, stretched; a black one where there is no picture, with the reason."""
    import numpy as np

    from tmapr.exceptions import InputError
    from tmapr.perception.image import Image
    from tmapr.types import Fault

    stretch = Image(clip_limit=0.0)
    for frame in sequence[:: max(ceil(len(sequence) / _THUMBNAILS), 1)]:
        caption = f"{sequence.name} {frame.index}"
        try:
            counts = frame.image()
            picture = stretch.prepare(counts, counts.shape)
        except InputError:
            picture = Fault.INVALID
        if isinstance(picture, Fault):
            yield f"{caption}: {picture}", np.zeros((3 * _WIDTH // 4, _WIDTH), np.uint8)
        else:
            yield caption, picture


def _format_defect(defect: "Defect") -> str:
    where = f"{defect.file}: " if defect.file else ""
    return f"    row {defect.row:<7} {defect.kind:<15} {where}{defect.detail}"


def _hint(examination: "Examination") -> str:
    return "; --all reads every one" if examination.frames > _SAMPLE >= examination.read else ""


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
