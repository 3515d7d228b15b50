"""TIFF files: their first directory, checked against the file's length before anybody decodes what it tells of."""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tmapr.exceptions import InputError
from tmapr.files import refuse_pixels

ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
"""How numbers are packed, by the first bytes of a file."""
WIDTH, HEIGHT, BITS, FORMAT = 256, 257, 258, 339
_SAMPLES, _PLANAR, _TILE = 277, 284, (322, 323)
_PLACES = ((273, 279), (324, 325))
"""Tags of where strips lie and how long they are, and the same of tiles."""
_READ = {WIDTH, HEIGHT, BITS, FORMAT, _SAMPLES, _PLANAR, *_TILE, *_PLACES[0], *_PLACES[1]}
_PIXELS = _READ | {259, 262, 266, 278, 317, 320, 338, 347}
"""Tags that say how pixels are laid out: the above, compression, palette, meaning of a sample and so on."""
_SIZES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
"""Bytes of a value by its type; 1 of all others."""
_MOST_TAGS, _MOST_STRIPS = 1000, 1 << 20

ReadAt = Callable[[int, int], bytes]
"""The bytes of a file from a place on, as many as are asked for if there are."""


class Directory(NamedTuple):
    """The values of tags that we read, and the entries of those that decoders need, as they are packed."""

    order: str
    values: Mapping[int, tuple[int, ...]]
    entries: Mapping[int, bytes]


def read_directory(read: ReadAt, length: int, where: str) -> Directory:
    """What a TIFF of so many bytes says of its first image; what lies behind its end raises struct.error or alike."""
    order = ORDERS[read(0, 4)]
    (start,) = struct.unpack(f"{order}I", read(4, 4))
    (count,) = struct.unpack(f"{order}H", read(start, 2))
    if count > _MOST_TAGS:
        raise InputError(f"{where}: has {count} tags; at most {_MOST_TAGS} are read, export it again")
    table = read(start + 2, 12 * count + 4)
    if len(table) < 12 * count + 4:  # with the place of the next one: the last bytes of many a TIFF
        raise ValueError("tags are missing")
    values, entries = dict[int, tuple[int, ...]](), dict[int, bytes]()
    for at in range(0, 12 * count, 12):
        entry = table[at : at + 12]
        tag, kind, number, place = struct.unpack(f"{order}HHII", entry)
        size = number * _SIZES.get(kind, 1)
        if size > 4 and place + size > length:
            raise ValueError("a tag's values are missing")
        if tag in _READ and kind in (3, 4):
            if number > _MOST_STRIPS:
                raise InputError(f"{where}: has {number} strips or tiles; at most {_MOST_STRIPS} are read")
            packed = entry[8 : 8 + size] if size <= 4 else read(place, size)
            values[tag] = struct.unpack(f"{order}{number}{'H' if kind == 3 else 'I'}", packed)
        if tag in _PIXELS:
            entries[tag] = entry
    _refuse_sizes(values, where)
    _refuse_channels(values, where)
    _refuse_missing(values, length)
    return Directory(order, values, entries)


def replace_directory(data: bytes, where: str) -> bytes:
    """A TIFF whose first directory has the pixels' tags alone.

    A camera maker's own tags, or a second page, would make libtiff complain on standard error.
    """
    order, _, entries = read_directory(lambda at, count: data[at : at + count], len(data), where)
    directory = struct.pack(f"{order}H", len(entries)) + b"".join(entries[tag] for tag in sorted(entries)) + bytes(4)
    return data[:4] + struct.pack(f"{order}I", len(data)) + data[8:] + directory


def _refuse_sizes(values: Mapping[int, tuple[int, ...]], where: str) -> None:
    """By the image's own size, and by that of a tile, for which decoders ask as well."""
    samples = max((1, *values.get(_SAMPLES, ())))
    pixel = samples * max((8, *values.get(BITS, ())))
    refuse_pixels(where, values[HEIGHT][0], values[WIDTH][0], pixel)
    if all(tag in values for tag in _TILE):
        refuse_pixels(f"{where}: a tile", values[_TILE[1]][0], values[_TILE[0]][0], pixel)


def _refuse_channels(values: Mapping[int, tuple[int, ...]], where: str) -> None:
    """Of 16 bits those that OpenCV makes 8 bits of, or anything: gray with alpha, and planes one after another."""
    samples = values.get(_SAMPLES, (1,))[0]
    if max((8, *values.get(BITS, ()))) > 8 and (samples == 2 or (samples > 1 and values.get(_PLANAR, (1,))[0] == 2)):
        raise InputError(f"{where}: has {samples} channels; export one channel of raw counts")


def _refuse_missing(values: Mapping[int, tuple[int, ...]], length: int) -> None:
    """Strips or tiles that end behind the file's end."""
    places = [zip(values[at], values[size], strict=True) for at, size in _PLACES if at in values]
    ends = [at + size for place in places for at, size in place]
    if not ends or max(ends) > length:
        raise ValueError("pixels are missing")
