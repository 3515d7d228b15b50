"""`tmapr preview`: thermal files as a person sees them and as the encoder does, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from tmapr.artifacts.images import Counts
    from tmapr.artifacts.sheet import Thumbnail
    from tmapr.perception.image import Image
    from tmapr.perception.radiometry import Profile

_SHEET_WIDTH = 1360


def preview(
    files: Annotated[list[Path], typer.Argument(metavar="FILES", help="thermal images: PNG, TIFF or JPEG")],
    out: Annotated[Path, typer.Option(metavar="PNG", help="the contact sheet to write")] = Path("preview.png"),
    preset: Annotated[Literal["raw", "ms2", "sthereo"], typer.Option(help="how to prepare the images")] = "raw",
    camera: Annotated[
        str | None, typer.Option(metavar="PROFILE", help="show temperatures, e.g. ms2 or centikelvin")
    ] = None,
    columns: Annotated[int, typer.Option(min=1, max=12, help="pictures in a row; a file has two")] = 4,
) -> None:
    """See thermal files as the encoder sees them: each one's min-max view and its prepared view."""
    from tmapr.artifacts.images import write_png
    from tmapr.artifacts.sheet import draw_contact_sheet
    from tmapr.perception.image import Image
    from tmapr.perception.radiometry import find_profile

    image = Image(preset=preset)
    calibration = None if camera is None else find_profile(camera)
    cells = []
    for file in files:
        facts, views = prepare_views(file, image, calibration)
        typer.echo(f"{file}: {facts}, {views[-1][0]}")
        cells += views
    write_png(out, draw_contact_sheet(cells, columns, _SHEET_WIDTH // columns))
    typer.echo(f"{out}: {len(files)} files; left as recorded, right as prepared")


def prepare_views(file: Path, image: "Image", calibration: "Profile | None" = None) -> "tuple[str, list[Thumbnail]]":
    """What there is to know of a file, and its two pictures with their captions."""
    import numpy as np

    from tmapr.artifacts.images import read_image
    from tmapr.exceptions import InputError
    from tmapr.perception.image import Image
    from tmapr.types import Fault

    counts = read_image(file)
    if calibration is not None and counts.itemsize == 1:
        raise InputError(f"{file}: an 8-bit picture holds no temperatures; leave --camera out")
    facts = _list_facts(counts, calibration)
    recorded = Image(low=0.0, high=100.0, clip_limit=0.0).prepare(counts, counts.shape)
    prepared = image.prepare(counts, image.size_after_crop(*counts.shape))
    unusable = isinstance(prepared, Fault)
    captions = f"{file.name}\n{facts}", f"unusable: {prepared}" if unusable else f"prepared: {image.preset}"
    blank = np.zeros(counts.shape, np.uint8)
    pictures = [blank if isinstance(view, Fault) else view for view in (recorded, prepared)]
    return facts, list(zip(captions, pictures, strict=True))


def _list_facts(counts: "Counts", calibration: "Profile | None") -> str:
    import numpy as np

    height, width = counts.shape
    extremes = np.array([[counts.min(), counts.max()]])
    facts = f"{8 * counts.itemsize} bit, {width}x{height}, counts {extremes[0, 0]}..{extremes[0, 1]}"
    if calibration is None:
        return facts
    coldest, hottest = calibration.celsius(extremes)[0]
    return f"{facts}, {coldest:.1f}..{hottest:.1f} C"
