"""What a reader gave of every frame, as arrays; and trees of files, spoiled, with the line that refuses them."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tmapr.exceptions import InputError

A, B = 6_378_137.0, 6_356_752.314245179  # metres: the semi-axes of WGS 84


def stamps_of(sequence):
    return np.array([frame.stamp for frame in sequence])


def positions_of(sequence):
    return np.array([(np.nan, np.nan) if frame.position is None else frame.position for frame in sequence])


def headings_of(sequence):
    return np.array([np.nan if frame.heading is None else frame.heading for frame in sequence])


def turned_by(found, expected):
    """The largest angle between headings, in degrees."""
    return np.degrees(np.abs(np.angle(np.exp(1j * (found - expected)))).max())


def degrees_of(positions, home):
    """Where the vertical through a point of the tangent plane meets the ellipsoid: the root of a quadratic."""
    lon, lat = np.radians(home)
    up = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    east = np.array([-np.sin(lon), np.cos(lon), 0.0])
    axes = np.array([A, A, B])
    foot = axes**2 * up / np.linalg.norm(axes * up)
    level = foot + positions @ np.stack([east, np.cross(up, east)])
    # |(level + u·up) / axes|² = 1 for u, whose two roots are here and at the antipodes
    a, b = np.sum((up / axes) ** 2), np.sum(level * up / axes**2, axis=1)
    c = np.sum((level / axes) ** 2, axis=1) - 1
    x, y, z = (level + np.outer((-b + np.sqrt(b**2 - a * c)) / a, up)).T
    return np.degrees(np.stack([np.arctan2(y, x), np.arctan2(z * A**2, np.hypot(x, y) * B**2)], axis=1))


def refusal_of(read, *arguments):
    """The one line in which an input is refused."""
    with pytest.raises(InputError) as caught:
        read(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def removed(path):
    return lambda tree: (shutil.rmtree if (tree / path).is_dir() else Path.unlink)(tree / path)


def emptied(path):
    return lambda tree: [file.unlink() for file in (tree / path).iterdir()]


def made_a_folder(path):
    return lambda tree: ((tree / path).unlink(), (tree / path).mkdir())


def written(path, content):
    return lambda tree: (tree / path).write_bytes(content if isinstance(content, bytes) else content.encode())


def line_replaced(path, number, text):
    """Counted from 1; None takes the line out."""

    def spoil(tree):
        lines = (tree / path).read_text().splitlines()
        lines[number - 1 : number] = [] if text is None else [text]
        (tree / path).write_text("\n".join(lines))

    return spoil
