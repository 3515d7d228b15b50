"""What the names of images say: their order, their times and, in place recognition data sets, where they were taken.

Such names are `@easting@northing@zone number@zone letter@latitude@longitude@…`, with the azimuth of the view in degrees
(0 = North, clockwise) as their ninth field and the time (any stamp, or YYYYMMDD_hhmmss) as their thirteenth. All but
the first two may be empty or missing.
"""

import os
import re
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tmapr.data.poses import wrap_angles
from tmapr.data.stamps import stamps_in_names
from tmapr.data.trajectory import parse_number, read_stamps
from tmapr.exceptions import InputError
from tmapr.geodesy import is_utm_zone

TIMES = "times.txt"

_SUFFIXES = (".png", ".tif", ".tiff", ".jpg", ".jpeg")
_EAST, _NORTH, _ZONE, _BAND, _AZIMUTH, _TIME = 1, 2, 3, 4, 9, 13


def list_files(folder: Path) -> list[str]:
    """The files in a folder but for hidden ones, by one look at it: over a network, a stat per image takes minutes."""
    return [entry.name for entry in scan(folder) if entry.name[0] != "." and not entry.is_dir(follow_symlinks=False)]


def scan(folder: Path) -> list[os.DirEntry[str]]:
    """Everything in a folder, which is refused if it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        raise InputError(f"{folder}: no such folder") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in its name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{folder}: is not a folder that can be read ({reason})") from None


def list_images(folder: Path) -> tuple[list[Path], Int[np.ndarray, " images"] | None]:
    """A folder's images in order of names, numbers by their value, and their stamps if they have any.

    Stamps come from `times.txt`, a line for each image, or from the names: these are then in order of time.
    """
    beside = list_files(folder)
    files = [folder / name for name in sorted(beside, key=_natural_key) if names_an_image(name)]
    _refuse_twins(files)
    if TIMES in beside:
        stamps = read_stamps(folder / TIMES)
        if len(stamps) != len(files):
            raise InputError(f"{folder / TIMES}: has {len(stamps)} stamps for {len(files)} images")
        return files, stamps
    found = _parse_stamps(files)
    if found is None:
        return files, None
    order = np.argsort(found)  # 1.25 comes before 1.5, although 25 comes after 5
    return [files[row] for row in order], found[order]


def names_an_image(name: str) -> bool:
    """Whether a file of that name is taken for an image."""
    return name.lower().endswith(_SUFFIXES)


def names_a_place(file: Path) -> bool:
    """Whether a name begins as those do that say where."""
    return file.name.startswith("@")


def parse_places(files: list[Path]) -> tuple[Float[np.ndarray, "images 2"], Float[np.ndarray, " images"], str | None]:
    """Eastings and northings, headings (NaN: none) and the UTM zone, "52N" or "33S", that they all share."""
    zones = [_parse_zone(file) for file in files]
    for file, zone in zip(files, zones, strict=True):
        if zone != zones[0]:
            raise InputError(f"{file}: is in UTM zone {zone}, {files[0].name} in {zones[0]}; keep one zone in a folder")
    places = [[_parse_field(file, _EAST, "easting"), _parse_field(file, _NORTH, "northing")] for file in files]
    azimuths = [_parse_field(file, _AZIMUTH, "azimuth") if _split_name(file)[_AZIMUTH] else np.nan for file in files]
    return np.array(places), wrap_angles(np.radians(90.0 - np.array(azimuths))), zones[0]


def _parse_stamps(files: list[Path]) -> Int[np.ndarray, " images"] | None:
    """The times in the names; None unless every name has one, and another one than the others."""
    times = [_split_name(file)[_TIME].replace("_", "T") if names_a_place(file) else file.stem for file in files]
    stamps = stamps_in_names(times, lambda row: str(files[row]))
    return stamps if stamps is not None and len(np.unique(stamps)) == len(stamps) else None


def _refuse_twins(files: list[Path]) -> None:
    """A camera's preview beside its raw image would be another frame."""
    seen: dict[str, Path] = {}
    for file in files:
        if (twin := seen.setdefault(file.stem, file)) is not file:
            raise InputError(f"{file}: there is {twin.name} too; keep one kind of image in a folder")


def _natural_key(name: str) -> tuple[list[tuple[str, int]], str]:
    """What to sort names by: pairs of a text and the number that follows it."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", name)], name


def _split_name(file: Path) -> list[str]:
    """Fields by their number, counted from 1, whether or not the name goes on so far."""
    fields = file.stem.split("@")
    return fields + [""] * (_TIME + 1 - len(fields))


def _parse_field(file: Path, field: int, what: str) -> float:
    return parse_number(_split_name(file)[field], what, str(file))


def _parse_zone(file: Path) -> str | None:
    number, band = _split_name(file)[_ZONE].strip(), _split_name(file)[_BAND].strip().upper()
    if not number.isdecimal() or not band:
        return None
    # Bands run from C in the far South over the equator, where N begins, to X.
    zone = f"{int(number)}{'N' if band >= 'N' else 'S'}"
    if not is_utm_zone(zone):
        raise InputError(f"{file}: its name has the UTM zone {number[:20]}; zones are 1 to 60")
    return zone
