"""The table of published weights, and what becomes of a file that somebody carried into the folder by hand."""

import hashlib
import json
import struct
import zipfile
from dataclasses import replace

import pytest

from tmapr.exceptions import InputError
from tmapr.perception.sources import find_source, obtain, read_digest

ANYTHERMAL, SALAD = find_source("anythermal"), find_source("salad")
BACKBONE, HEAD = ANYTHERMAL.members
CONTENT = bytes(range(256)) * 40
NOBODY = "https://127.0.0.1:1/"


def sha(content):
    return hashlib.sha256(content).hexdigest()


def take(source, folder, sha256=None):
    """What is not in the folder cannot come: nothing listens there."""
    return obtain(replace(source, url=NOBODY), folder, url=None, sha256=sha256, watch=lambda done, size: None)


def carry(folder, entries, file=ANYTHERMAL.file):
    with zipfile.ZipFile(folder / file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in entries.items():
            bundle.writestr(name, content)
    return folder / file


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("name", "variant", "url"),
    [
        ("dinov2", None, "https://dl.fbaipublicfiles.com/dinov2/dinov2_vitb14/dinov2_vitb14_pretrain.pth"),
        ("dinov2", "vits14", "https://dl.fbaipublicfiles.com/dinov2/dinov2_vits14/dinov2_vits14_pretrain.pth"),
        ("dinov2", "vitb14_reg", "https://dl.fbaipublicfiles.com/dinov2/dinov2_vitb14/dinov2_vitb14_reg4_pretrain.pth"),
        ("dinov2", "vits14_reg", "https://dl.fbaipublicfiles.com/dinov2/dinov2_vits14/dinov2_vits14_reg4_pretrain.pth"),
        ("salad", None, "https://github.com/serizba/salad/releases/download/v1.0.0/dino_salad.ckpt"),
        ("anythermal", None, "https://huggingface.co/theairlabcmu/AnyThermal/resolve/main/anythermal_checkpoints.zip"),
    ],
)
def test_the_table_names_the_published_address_and_a_licence(name, variant, url):
    source = find_source(name, variant)
    assert (source.url, source.file) == (url, url.rsplit("/", 1)[1])
    assert source.licence


@pytest.mark.parametrize(("name", "variant"), [("dinov2", "vitg14"), ("salad", "vitb14"), ("dinov3", None)])
def test_what_is_not_published_is_refused(name, variant):
    with pytest.raises(InputError, match=r"there are|only dinov2"):
        find_source(name, variant)


@pytest.mark.parametrize(
    ("url", "sha256", "answer"),
    [
        ("file:///etc/hostname", None, "only https addresses are fetched"),
        ("http://github.com/serizba/salad", None, "only https addresses are fetched"),
        ("http://mirror.example/salad", "0" * 64, "only https addresses are fetched"),
        (
            "https://mirror.example/salad",
            None,
            "is at none of github.com, githubusercontent.com; say with --sha256 what",
        ),
    ],
)
def test_a_mirror_is_on_the_safe_web_and_its_content_known(url, sha256, answer, tmp_path):
    with pytest.raises(InputError, match=answer):
        obtain(SALAD, tmp_path, url=url, sha256=sha256, watch=lambda done, size: None)


def test_a_carried_checkpoint_is_taken_and_its_digest_written_down(tmp_path):
    (tmp_path / SALAD.file).write_bytes(CONTENT)
    assert take(SALAD, tmp_path) == (tmp_path / SALAD.file,)
    assert (tmp_path / f"{SALAD.file}.sha256").read_text() == f"{sha(CONTENT)}  {SALAD.file}\n"


def test_a_download_killed_just_before_its_end_needs_no_network(tmp_path):
    note = {"url": NOBODY, "etag": '"1"', "size": len(CONTENT), "sha256": None}
    (tmp_path / f"{SALAD.file}.part").write_bytes(CONTENT)
    (tmp_path / f"{SALAD.file}.part.json").write_text(json.dumps(note))
    assert take(SALAD, tmp_path)[0].read_bytes() == CONTENT


def test_a_published_digest_holds_for_a_carried_file_too(tmp_path):
    source = find_source("dinov2")
    (tmp_path / source.file).write_bytes(CONTENT)
    with pytest.raises(InputError, match=f"{sha(CONTENT)}, expected {source.sha256}; move it away"):
        take(source, tmp_path)
    assert read_digest(tmp_path / source.file) is None


def test_the_digest_of_first_use_holds_until_another_is_asked_for(tmp_path):
    (tmp_path / SALAD.file).write_bytes(CONTENT)
    take(SALAD, tmp_path)
    (tmp_path / SALAD.file).write_bytes(CONTENT[:-1])
    with pytest.raises(InputError, match=f"expected {sha(CONTENT)}"):
        take(SALAD, tmp_path)
    take(SALAD, tmp_path, sha256=sha(CONTENT[:-1]).upper())
    assert read_digest(tmp_path / SALAD.file) == sha(CONTENT[:-1])


@pytest.mark.parametrize("note", ["", "abc  dino_salad.ckpt\n", "\xff"])
def test_a_record_that_holds_no_digest_is_named(note, tmp_path):
    (tmp_path / f"{SALAD.file}.sha256").write_text(note, encoding="latin-1")
    with pytest.raises(InputError, match=r"dino_salad.ckpt.sha256: a SHA-256 has 64 hexadecimal digits"):
        take(SALAD, tmp_path)


def test_exactly_the_wanted_members_leave_an_archive(tmp_path):
    folder = tmp_path / "deep/weights"
    folder.mkdir(parents=True)
    strangers = ["../../evil.pth", "/evil.pth", f"../{HEAD}", "pretrained_checkpoints/depth/model20.pth"]
    carry(folder, {BACKBONE: CONTENT, HEAD: CONTENT[::-1], **dict.fromkeys(strangers, b"evil")})
    backbone, head = take(ANYTHERMAL, folder)
    assert (backbone.name, head.name) == ("model20.pth", "model_35.pth")
    assert (backbone.read_bytes(), head.read_bytes()) == (CONTENT, CONTENT[::-1])
    assert (read_digest(backbone), read_digest(head)) == (sha(CONTENT), sha(CONTENT[::-1]))
    kept = {path.name for path in (backbone, head, folder / ANYTHERMAL.file)}
    assert set(files(tmp_path)) == {"deep", "deep/weights"} | {
        f"deep/weights/{name}{suffix}" for name in kept for suffix in ("", ".sha256")
    }


def test_a_wanted_member_that_climbs_still_lands_beside_the_archive(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    carry(folder, {"../evil.pth": CONTENT})
    assert take(replace(ANYTHERMAL, members=("../evil.pth",)), folder) == (folder / "evil.pth",)
    assert not (tmp_path / "evil.pth").exists()


def swollen(archive):
    """The last central entry claims almost 4 GiB."""
    data = bytearray(archive.read_bytes())
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 24, 0xFFFF_FFFE)
    archive.write_bytes(data)


def truncated(archive):
    archive.write_bytes(archive.read_bytes()[:-40])


def garbled(archive):
    data = bytearray(archive.read_bytes())
    data[data.index(HEAD.encode()) + len(HEAD)] = 0xFF  # the member's first byte: a kind of block that does not exist
    archive.write_bytes(data)


def untouched(archive):
    pass


@pytest.mark.parametrize(
    ("damage", "entries", "reason"),
    [
        (swollen, (BACKBONE, HEAD), "claims 4294967294 bytes"),
        (truncated, (BACKBONE, HEAD), "cannot be unpacked"),
        (garbled, (BACKBONE, HEAD), "cannot be unpacked"),
        (untouched, (BACKBONE,), f"has no member {HEAD}"),
    ],
)
def test_an_archive_that_is_not_what_it_should_be_is_neither_unpacked_nor_trusted(damage, entries, reason, tmp_path):
    damage(carry(tmp_path, dict.fromkeys(entries, CONTENT)))
    with pytest.raises(InputError, match=reason):
        take(ANYTHERMAL, tmp_path)
    assert not (tmp_path / "model_35.pth").exists()
    assert [name for name in files(tmp_path) if name.endswith((".sha256", ".partial"))] == []
