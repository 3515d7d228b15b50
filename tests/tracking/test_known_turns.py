"""Through the whole chain: known turns leave a mapped drive alone, doubt a jump, and lead on where the map ends."""

from dataclasses import replace

import numpy as np
import pytest
from routes import SPEED, look, ring

from tmapr.fusion.capf import Fusion
from tmapr.retrieval.memory import remember
from tmapr.track import RouteTracker
from tmapr.tracking import Tracking
from tmapr.types import NANOSECONDS, Comparison, Odometry, Percept, Recognition, Status

WAY = ring(150)
MAPPED = look(WAY, np.random.default_rng(1))
LAP = float(np.hypot(*(WAY - np.roll(WAY, 1, axis=0)).T).sum())
INSIDE = float(np.hypot(*WAY[0])) - 1.0
"""Radius of the drives, a metre inside the mapped way."""
RADIUS = 10.0
BELIEVED = 40.0
"""Metres for which a place is doubted that way and turns contradict."""
RATE = 4
YAW_RATE = SPEED / INSIDE
GAIN = 0.8


def place_at(metres):
    turn = np.asarray(metres) / INSIDE
    return INSIDE * np.column_stack([np.cos(turn), np.sin(turn)])


def remembered():
    count = len(WAY)
    stamps = np.arange(count) * round(NANOSECONDS * LAP / count / SPEED)
    headings = np.arctan2(*WAY.T[::-1]) + np.pi / 2
    rows = np.arange(count)
    return remember(MAPPED, WAY, rows // 8, stamps, frames=rows, headings=headings, turn_gain=GAIN, probes=256)


MEMORY = remembered()


def track():
    return RouteTracker(Tracking(radius=RADIUS), Fusion(), MEMORY)


def film(positions, times=None, motion=None):
    times = np.arange(len(positions)) / RATE if times is None else times
    stamps = np.round(1e12 + times * NANOSECONDS).astype(int).tolist()
    seen = look(positions, np.random.default_rng(2))
    return [Percept(stamp, view, motion=motion) for stamp, view in zip(stamps, seen, strict=True)]


def compare(descriptor):
    cosines = MAPPED @ descriptor
    centre = np.median(cosines)
    return Comparison((cosines - centre) / (1.4826 * np.median(np.abs(cosines - centre))), np.zeros(len(MAPPED)))


def advance(tracker, percepts):
    return [tracker.advance(each, Recognition(comparison=compare(each.descriptor))) for each in percepts]


def p_places(estimates):
    return np.array([estimate.route.p_place for estimate in estimates])


METRES = SPEED / RATE * np.arange(160)
JUMP = 80
ELSEWHERE = METRES + np.where(np.arange(160) >= JUMP, np.pi * INSIDE, 0.0)
"""Half around the ring, within one frame."""
