"""A map in shards comes to this machine: only the objects that are not here yet, each checked before it is in place.

The manifest is written last. Until then nobody finds the map: whatever stops a pull, what was there before is what is
used, and the next pull goes on where this one ended.
"""

from collections.abc import Callable
from pathlib import Path

from tmapr.exceptions import InputError
from tmapr.shards.manifest import Manifest, read_manifest
from tmapr.store.folder import FolderStore
from tmapr.store.names import digest_of, name_manifest, name_object
from tmapr.store.protocol import Store


def pull(store: Store, name: str, home: Path, tell: Callable[[str], None] = lambda _: None) -> Manifest:
    """Bring the map of that name home; what is already here is not asked for again."""
    manifest, here = read_manifest(store, name), FolderStore(home)
    missing = [each for each in manifest.objects() if not _is_here(here, *each)]
    tell(
        f"{len(missing)} of {len(manifest.objects())} objects are missing,"
        f" {sum(size for _, size in missing) / 1e6:.1f} MB"
    )
    for number, (sha256, size) in enumerate(missing, 1):
        content = fetch(store, sha256, size)
        # What lies here under its name and has another size is damaged: these are the bytes that the name stands for.
        here.path(name_object(sha256)).unlink(missing_ok=True)
        here.write(name_object(sha256), content)
        tell(f"{number} of {len(missing)}: {sha256[:12]}…, {size / 1e6:.1f} MB")
    here.write(name_manifest(name), manifest.text())
    return manifest


def fetch(store: Store, sha256: str, size: int) -> bytes:
    """An object that is what its name says; no more is read of it than the manifest promises."""
    content = store.read_range(name_object(sha256), 0, size)
    if len(content) != size or digest_of(content) != sha256:
        raise InputError(
            f"{store}: the object {sha256[:12]}… does not have the content that its name stands for"
            f" ({len(content)} of {size} bytes read); it was damaged or changed, and nothing of it is used"
        )
    return content


def verify(home: Path, manifest: Manifest) -> list[str]:
    """The objects of a map that are not here, or not what their names say; empty where all is well."""
    here = FolderStore(home)
    return [sha256 for sha256, size in manifest.objects() if not _is_sound(here, sha256, size)]


def _is_sound(here: FolderStore, sha256: str, size: int) -> bool:
    return _is_here(here, sha256, size) and digest_of(here.read(name_object(sha256))) == sha256


def _is_here(here: FolderStore, sha256: str, size: int) -> bool:
    """Whether it was put in place, whole: it was checked then."""
    path = here.path(name_object(sha256))
    return path.is_file() and path.stat().st_size == size
