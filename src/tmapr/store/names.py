"""Names of objects and manifests, made from a SHA-256 and from nothing else."""

import hashlib
import re

from tmapr.exceptions import InputError

SHA256 = r"^[0-9a-f]{64}$"
OBJECTS, MANIFESTS = "objects", "manifests"

_SHA256 = re.compile(SHA256.removesuffix("$") + r"\Z")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*\Z")
_LONGEST = 500


def digest_of(content: bytes) -> str:
    """The SHA-256 of bytes, as names have it."""
    return hashlib.sha256(content).hexdigest()


def name_object(sha256: str) -> str:
    """Where an object lies; two digits make folders that no file system finds too full."""
    return f"{OBJECTS}/{check_digest(sha256)[:2]}/{sha256}"


def name_manifest(sha256: str) -> str:
    """Where a manifest lies."""
    return f"{MANIFESTS}/{check_digest(sha256)}.json"


def is_digest(text: str) -> bool:
    """Whether it is the SHA-256 of something."""
    return _SHA256.match(text) is not None


def check_digest(text: str) -> str:
    """The same, if it is the SHA-256 of something."""
    if not is_digest(text):
        raise InputError(f"{text[:80]!r}: is no name of a map in shards, which has 64 digits of 0-9 and a-f")
    return text


def check_name(name: str) -> str:
    """The same, if it can only mean an object below the store: no `..`, no root, nothing hidden."""
    if len(name) > _LONGEST or not _NAME.match(name):
        raise InputError(f"{name[:80]!r}: is no name of an object in a store")
    return name
