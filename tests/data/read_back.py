"""What a reader gave of every frame, as arrays."""

import numpy as np


def stamps_of(sequence):
    return np.array([frame.stamp for frame in sequence])


def positions_of(sequence):
    return np.array([(np.nan, np.nan) if frame.position is None else frame.position for frame in sequence])


def headings_of(sequence):
    return np.array([np.nan if frame.heading is None else frame.heading for frame in sequence])


def turned_by(found, expected):
    """The largest angle between headings, in degrees."""
    return np.degrees(np.abs(np.angle(np.exp(1j * (found - expected)))).max())
