"""Which of a bag's topics a user most likely means, where there are several, said with what else there is.

A guess to be looked at, in a file to be edited; reading a bag guesses nothing.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tmapr.data.bag import Topics
from tmapr.data.messages import FIX, IMAGES, POSES
from tmapr.data.topics import TopicUse, list_topics
from tmapr.exceptions import InputError

_THERMAL = re.compile(r"therm|lwir|infrared|flir|boson|lepton|(^|[/_-])ir([/_-]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """What to set where there is a choice, lines on what that was chosen from, and how all topics are then used."""

    topics: Topics
    lines: tuple[str, ...]
    uses: tuple[TopicUse, ...]

    @property
    def kind(self) -> str | None:
        """The type of the messages with positions, if any are read."""
        return next((use.topic.kind for use in self.uses if "position" in use.roles), None)


def guess_topics(
    path: Path, image: str | None = None, position: str | None = None, kinds: Collection[str] = (FIX, *POSES)
) -> TopicChoice:
    """The topics of a bag: what is named and there, else the likeliest; `kinds` are positions that will do."""
    there = [use for use in list_topics(path) if use.topic.count]
    images = [use for use in there if use.topic.kind in IMAGES]
    places = [use for use in there if use.topic.kind in (FIX, *POSES)]
    seen, placed = _find_named(images, image), "" if position == "" else _find_named(places, position)
    topics = Topics(image=_name_images(path, images, seen), position=_name_places(places, placed, kinds))
    lines = (*_tell(path, "image", topics.image, images), *_tell(path, "position", topics.position, places))
    return TopicChoice(topics, lines, tuple(list_topics(path, topics)))


def _find_named(uses: list[TopicUse], name: str | None) -> str | None:
    return next((name for use in uses if use.topic.name == name), None)


def _name_images(path: Path, images: list[TopicUse], named: str | None) -> str | None:
    if named is not None or len(images) < 2:
        return named
    readable = [use for use in images if _is_readable(use)]
    if not readable:
        raise InputError(f"{path}: none of its topics with images can be read: {_list(images)}; {images[0].remark}")
    return max(readable, key=_rank_images).topic.name


def _rank_images(use: TopicUse) -> tuple[bool, bool, int]:
    """A name says more than a depth: depth cameras have 16 bits too."""
    return bool(_THERMAL.search(use.topic.name)), "16 bit" in use.encoding, use.topic.count


def _is_readable(use: TopicUse) -> bool:
    return use.encoding.endswith("bit")


def _name_places(places: list[TopicUse], named: str | None, kinds: Collection[str]) -> str | None:
    """Fixes first: odometry begins anew in each recording, and two share its frame only if the robot saw to it."""
    fitting = [use for use in places if use.topic.kind in kinds]
    if named is not None:
        return named
    if not fitting:
        return "" if places else None
    if len(places) == 1:
        return None
    return max(fitting, key=lambda use: (use.topic.kind == FIX, use.topic.count)).topic.name


def _tell(path: Path, role: str, chosen: str | None, uses: list[TopicUse]) -> list[str]:
    if chosen is None or not uses:
        return []
    taken = f"{chosen} is read" if chosen else "none is read, to fit the reference,"
    return [f"{path}: {taken} of the topics with {role}s: {_list(uses)}; --{role} TOPIC chooses another"]


def _list(uses: list[TopicUse]) -> str:
    return ", ".join(f"{use.topic}{f' {use.encoding}' if use.encoding else ''}" for use in uses)
