"""What packages of others offer: descriptors, encoders and tracking methods, found by Python's entry points.

There is no list of ours: `importlib.metadata` says what is installed. Nothing of it is imported before an experiment
names it as `plugin:NAME`; then it is code that the user chose to install, and runs as such.
"""

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float, Shaped, UInt8

from tmapr.exceptions import InputError, TmaprError
from tmapr.types import Belief, Candidate, Percept, Recognition, Verdict

PREFIX = "plugin:"
ENCODERS, DESCRIPTORS, TRACKING = "tmapr.encoders", "tmapr.descriptors", "tmapr.tracking"
"""The groups of entry points. Each names what makes the part: a class, or a function, that takes the options."""

_log = logging.getLogger("tmapr")
_NOUNS = {ENCODERS: "an encoder", DESCRIPTORS: "a descriptor", TRACKING: "a tracking method"}
_NAME = re.compile(rf"{PREFIX}[\w.-]+")
_LONGEST = 200

Plain = bool | int | float | str
Options = Mapping[str, Plain | tuple[Plain, ...]]
"""What an experiment gives to a plug-in: keywords with plain values of TOML, or lists of these."""


@runtime_checkable
class Describe(Protocol):
    """A descriptor: the whole of perception. Each row follows from its picture alone, whatever else is in the batch."""

    def __call__(self, pictures: UInt8[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "images dim"]:
        """One row of finite numbers per picture, not all 0; rows are scaled to length 1 afterwards."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a tracking method says of a frame; `candidate` is the reference that the verdict is about.

    A verdict that accepts comes with the position that corrects the filter, and its standard deviation per axis in
    metres. `Reason.RELOCALIZED` starts the filter again there; every other reason leaves it as predicted.
    """

    verdict: Verdict
    candidate: Candidate | None = None
    position: Float[np.ndarray, "2"] | None = None
    deviation: float | None = None


@runtime_checkable
class TrackingMethod(Protocol):
    """Judges what frames look like. What it carries from frame to frame is its `arrays`, and nothing else."""

    def judge(self, percept: Percept, recognition: Recognition, belief: Belief) -> Judgement:
        """Judge a usable frame; `belief` is the filter's, predicted to the frame's time."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Everything that changes, as finite numbers, truth values or text; empty where nothing does."""

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continue from where `arrays` were taken; raise ValueError or KeyError where they do not fit."""


@runtime_checkable
class Revised(Protocol):
    """What an entry point names may say that it gives other results than before, although its version is the same."""

    revision: object


@dataclass(frozen=True, slots=True)
class Offer:
    """An entry point, and the distribution that has it."""

    entry: EntryPoint
    distribution: str
    version: str

    @property
    def title(self) -> str:
        """As a setting names it."""
        return PREFIX + self.entry.name

    @property
    def source(self) -> str:
        """Distribution and version."""
        return f"{self.distribution} {self.version}"

    @property
    def mark(self) -> str:
        """What made something: distribution, version, and a revision if it tells one. Imports the plug-in."""
        made: object = self._load()
        if not isinstance(made, Revised):
            return self.source
        revision = made.revision
        if not isinstance(revision, str):
            raise self.refuse(f"the revision of {self.entry.value} is {describe(revision)}; give a text")
        return f"{self.source}, revision {shorten(revision)}"

    def build(self, section: str, options: Options, *given: object) -> object:
        """The part itself. What its maker does not take, or refuses with a ValueError, is a mistake in the section."""
        make, where = self._load(), f"{section}.options: {self.title} ({self.source})"
        try:
            signature(make).bind(*given, **options)
        except TypeError as error:
            raise InputError(f"{where} does not take them: {shorten(error)}") from error
        except ValueError:
            pass  # one written in C may have no signature: then its call will tell
        try:
            with self.blaming("making it", but=ValueError):
                return make(*given, **options)
        except ValueError as error:
            raise InputError(f"{where}: {shorten(error)}") from error

    @contextmanager
    def blaming(self, doing: str, but: type[Exception] = TmaprError) -> Iterator[None]:
        """Around a call of the plug-in's own code: what it raises becomes a line, except for `but`.

        The traceback goes to the log, which `-v` shows.
        """
        try:
            yield
        except (TmaprError, MemoryError, but):
            raise
        except Exception as error:
            _log.info("%s", traceback.format_exc().rstrip())
            raise self.refuse(f"{doing} raised {type(error).__name__}: {shorten(error)}") from error

    def refuse(self, what: str) -> InputError:
        """What it did is not what it promised."""
        return InputError(f"{self.title} ({self.source}): {what}")

    def _load(self) -> Callable[..., object]:
        with self.blaming(f"importing {self.entry.value}"):
            found = self.entry.load()
        if not callable(found):
            raise self.refuse(f"its entry point {self.entry.value} is no class or function, but {describe(found)}")
        return cast("Callable[..., object]", found)


def is_plugin(value: str) -> bool:
    """Whether a setting names a plug-in."""
    return value.startswith(PREFIX)


def check_options(setting: str, named: str, options: Options) -> None:
    """Refuse, as ValueError, a name that cannot be one, and options that nobody takes."""
    if is_plugin(named) and not _NAME.fullmatch(named):
        raise ValueError(f"{setting} = {named!r}: write {PREFIX}NAME, of letters, digits, '.', '_' and '-'")
    if options and not is_plugin(named):
        section = setting.partition(".")[0]
        raise ValueError(f"{section}.options: {setting} = {named!r} takes none; they are for a plug-in, {PREFIX}NAME")


def find_offers(named: str, *groups: str) -> list[Offer]:
    """Who offers the part that a setting names; nothing is imported."""
    name = named.removeprefix(PREFIX)
    return [offer for group in groups for offer in _list_offers(group) if offer.entry.name == name]


def choose_offer(setting: str, named: str, *groups: str) -> Offer:
    """The one offer of that name; none, and two, are refused with what is installed."""
    found = find_offers(named, *groups)
    if len(found) == 1:
        return found[0]
    if found:
        told = " and ".join(f"{_NOUNS[offer.entry.group]} of {offer.source}" for offer in found)
        raise InputError(f"{setting} = {named!r}: is {told}; uninstall one of them, or have one renamed")
    others = [offer for group in _NOUNS if group not in groups for offer in find_offers(named, group)]
    if others:
        wanted, is_one = " or ".join(_NOUNS[group] for group in groups), _NOUNS[others[0].entry.group]
        raise InputError(f"{setting} = {named!r}: is {is_one} ({others[0].source}), and {wanted} is needed here")
    installed = sorted({offer.title for group in groups for offer in _list_offers(group)})
    told = f"installed are {', '.join(installed)}" if installed else "no plug-in of this kind is installed"
    raise InputError(f"{setting} = {named!r}: is not installed ({told}); pip install the package that offers it")


def describe(value: object) -> str:
    """A returned value in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{type(value).__name__} {shorten(value, 40)}"


def shorten(value: object, length: int = _LONGEST) -> str:
    """The first line of a text, or as much of it as fits into a message."""
    text = " ".join(str(value).split())
    return text if len(text) <= length else text[: length - 3] + "..."


def _list_offers(group: str) -> list[Offer]:
    found = entry_points(group=group)
    return [Offer(entry, entry.dist.name, entry.dist.version) for entry in found if entry.dist is not None]
