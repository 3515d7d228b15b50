"""Where the published checkpoints are, under which licence, and how one of them comes onto this disk.

Every file obtained gets a FILE.sha256 beside it, in the form of sha256sum. Where nobody has published a SHA-256, that
record is the trust of first use: the next download must be the same bytes.
"""

import re
import shutil
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tmapr.artifacts.atomic import replacing, write_text
from tmapr.artifacts.download import Bounds, ByteWatch, fetch, find_host
from tmapr.artifacts.run import file_digest
from tmapr.exceptions import InputError
from tmapr.files import SETTINGS_BYTES, read_bytes

VARIANTS = ("vits14", "vitb14", "vits14_reg", "vitb14_reg")

_LARGEST_MEMBER = 2 << 30  # ViT-B with its optimizer's state is about 1 GiB
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """One published file. Of an archive only `members` are wanted, each under its own base name."""

    name: str
    url: str
    file: str
    licence: str
    megabytes: int | None = None
    sha256: str | None = None
    members: tuple[str, ...] = ()
    relays: tuple[str, ...] = ()
    """Hosts that the address leads to."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Where the published file may come from."""
        return find_host(self.url), *self.relays


# What finegrain-ai/refiners pins (src/refiners/conversion/models/dinov2.py); several other projects pin the same.
_DINOV2_SHA256 = {
    "vits14": "b938bf1bc15cd2ec0feacfe3a1bb553fe8ea9ca46a7e1d8d00217f29aef60cd9",
    "vitb14": "0b8b82f85de91b424aded121c7e1dcc2b7bc6d0adeea651bf73a13307fad8c73",
    "vits14_reg": "f433177089a681826f849f194ece3bb48f4d63fb38d32fc837e3dc7a4e5641fb",
    "vitb14_reg": "73182a088cf94833c94b1666d1c99e02fe87e2007bff57b564fb6206e25dba71",
}

_SALAD = Source(
    name="salad",
    url="https://github.com/serizba/salad/releases/download/v1.0.0/dino_salad.ckpt",
    file="dino_salad.ckpt",
    licence="GPL-3.0 for the repository that releases it, serizba/salad; none is stated for the weights themselves",
    megabytes=352,
    relays=("githubusercontent.com",),
)

_ANYTHERMAL = Source(
    name="anythermal",
    url="https://huggingface.co/theairlabcmu/AnyThermal/resolve/main/anythermal_checkpoints.zip",
    file="anythermal_checkpoints.zip",
    licence="not stated by the authors for the weights: ask them before you pass these on or sell what uses them;"
    " the code, castacks/AnyThermal, is BSD-3-Clause-Clear, and the weights were distilled from DINOv2 (Apache-2.0)",
    members=(
        "pretrained_checkpoints/backbone/AnyThermal_full/model20.pth",
        "pretrained_checkpoints/vpr/model_35.pth",
    ),
    relays=("hf.co",),
)


def find_source(name: str, variant: str | None = None) -> Source:
    """The source of that name; DINOv2 comes in several variants."""
    if name == "dinov2":
        return _find_dinov2(variant or "vitb14")
    if variant is not None:
        raise InputError(f"{name} has no variant {variant}; only dinov2 has variants")
    for source in (_SALAD, _ANYTHERMAL):
        if source.name == name:
            return source
    raise InputError(f"no published weights named {name}; there are anythermal, dinov2 and salad")


def obtain(source: Source, folder: Path, *, url: str | None, sha256: str | None, watch: ByteWatch) -> tuple[Path, ...]:
    """Download what is not there, check it and extract its members; the checkpoints' paths.

    The SHA-256 must be the one given here, else the published one, else the recorded one. A file that somebody
    carried here by hand is checked the same way, and nothing is downloaded.
    """
    path = folder / source.file
    expected = _parse_digest(sha256) if sha256 else source.sha256 or read_digest(path)
    if not path.exists():
        found = fetch(url or source.url, path, bounds=_bound(source, url, expected), sha256=expected, watch=watch)
    else:
        found = file_digest(path)
        if expected not in (None, found):
            raise InputError(f"{path}: has SHA-256 {found}, expected {expected}; move it away to download it again")
    extracted = tuple(_extract(path, member) for member in source.members)
    # Only now: an archive that cannot be opened must not become the one to trust.
    _write_digest(path, found)
    for checkpoint in extracted:
        _write_digest(checkpoint, file_digest(checkpoint))
    return extracted or (path,)


def _bound(source: Source, mirror: str | None, sha256: str | None) -> Bounds:
    """A mirror of one's own is as good as the publisher's host where the content is known beforehand."""
    published = Bounds(source.hosts)
    if mirror is None or published.allow(mirror):
        return published
    if sha256 is None:
        raise InputError(f"{mirror}: is at none of {', '.join(source.hosts)}; say with --sha256 what must come from it")
    return Bounds((*source.hosts, find_host(mirror)))


def read_digest(path: Path) -> str | None:
    """The SHA-256 that was written down when the file first came."""
    note = _digest_file(path)
    if not note.exists():
        return None
    return _parse_digest(read_bytes(note, SETTINGS_BYTES).decode(errors="replace").partition(" ")[0], f"{note}: ")


def _write_digest(path: Path, sha256: str) -> None:
    write_text(_digest_file(path), f"{sha256}  {path.name}\n")


def _extract(archive: Path, member: str) -> Path:
    """Write one member, chosen by its whole name, beside the archive, which has no say in where that is."""
    path = archive.with_name(PurePosixPath(member).name)
    try:
        with zipfile.ZipFile(archive) as bundle:
            size = bundle.getinfo(member).file_size
            if size > _LARGEST_MEMBER:
                raise InputError(f"{archive}: {member} claims {size} bytes, more than any checkpoint of its kind has")
            with bundle.open(member) as content, replacing(path) as stream:
                shutil.copyfileobj(content, stream, _CHUNK)
    except KeyError:
        raise InputError(f"{archive}: has no member {member}; look with `unzip -l` where it is now") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise InputError(f"{archive}: cannot be unpacked ({error}); remove it and run the command again") from None
    return path


def _find_dinov2(variant: str) -> Source:
    if variant not in VARIANTS:
        raise InputError(f"no DINOv2 variant {variant}; there are {', '.join(VARIANTS)}")
    model = f"dinov2_{variant.removesuffix('_reg')}"
    file = f"{model}_reg4_pretrain.pth" if variant.endswith("_reg") else f"{model}_pretrain.pth"
    return Source(
        name="dinov2",
        url=f"https://dl.fbaipublicfiles.com/dinov2/{model}/{file}",
        file=file,
        licence="Apache-2.0, code and weights, facebookresearch/dinov2",
        megabytes=88 if variant.startswith("vits") else 346,
        sha256=_DINOV2_SHA256[variant],
    )


def _parse_digest(sha256: str, place: str = "") -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise InputError(f"{place}a SHA-256 has 64 hexadecimal digits, got {sha256!r}")
    return sha256.lower()


def _digest_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
