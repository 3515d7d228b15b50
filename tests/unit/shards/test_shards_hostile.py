"""Maps that lie, are damaged or only half there: refused in one line, and what was here before stays as it was."""

import json

import numpy as np
import pytest

from sharded import TARGET
from tmapr.exceptions import InputError
from tmapr.shards import load_shards, pull, read_manifest, verify, write_shards
from tmapr.shards.manifest import find_manifest, name_map
from tmapr.shards.packing import open_packed, pack
from tmapr.store import FolderStore, digest_of, name_manifest, name_object


@pytest.fixture
def manifest(environment, store):
    return write_shards(environment, store, target=TARGET)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def forge(store, manifest, change):
    """A manifest that somebody changed, under the name that its content has now."""
    tree = json.loads(manifest.text())
    change(tree)
    text = json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
    store.write(name_manifest(digest_of(text)), text)
    return digest_of(text)


def rename_map(tree):
    """Make what states call the map fit the objects again: a liar who knows how."""
    from tmapr.shards import Part, Shard

    parts = tuple(Part.model_validate_json(json.dumps(each)) for each in tree["parts"])
    shards = tuple(Shard.model_validate_json(json.dumps(each)) for each in tree["shards"])
    tree["map"] = name_map(parts, shards)


def put(tree, path, value):
    *way, last = path
    for key in way:
        tree = tree[key]
    tree[last] = value


UNSOUND = {
    "a path for an object": (("shards", 0, "sha256"), "../../../../etc/passwd"),
    "a path in a part": (("parts", 0, "sha256"), "/etc/passwd" + "a" * 53),
    "a part with a path": (("parts", 0, "name"), "../x"),
    "capital letters": (("shards", 0, "sha256"), "A" * 64),
    "a line end behind the digits": (("shards", 0, "sha256"), "a" * 63 + "\n"),
    "a negative size": (("shards", 0, "bytes"), -1),
    "no bytes": (("shards", 0, "bytes"), 0),
    "a terabyte": (("shards", 0, "bytes"), 1 << 40),
    "a size in words": (("shards", 0, "bytes"), "8"),
    "true bytes": (("shards", 0, "bytes"), True),
    "places that overlap": (("shards", 1, "first_place"), 0),
    "places before the first": (("shards", 0, "first_place"), -1),
    "a last place before the first": (("shards", 0, "last_place"), -1),
    "more references": (("references",), 10**9),
    "more places": (("place_count",), 10**9),
    "no shards": (("shards",), []),
    "another map": (("map",), "0" * 64),
    "another kind": (("kind",), "state"),
    "another version": (("version",), 2),
    "something unknown": (("run",), "rm -rf"),
    "something unknown in a shard": (("shards", 0, "run"), "rm -rf"),
    "something unknown in the frame": (("frame", "run"), "rm -rf"),
    "a box of infinity": (("shards", 0, "box", 0), 1e308),
    "a box of three": (("shards", 0, "box"), [0.0, 0.0, 1.0]),
    "no dimension": (("dimension",), 0),
    "a frame nowhere": (("frame",), {"kind": "utm", "zone": "99X", "origin": [0.0, 0.0]}),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_an_unsound_manifest_is_refused_in_one_line(manifest, store, home, case):
    name = forge(store, manifest, lambda tree: put(tree, *UNSOUND[case]))
    with pytest.raises(InputError, match=r"is not sound|is not written as") as refusal:
        pull(store, name, home)
    assert "\n" not in str(refusal.value)
    assert not home.exists()


@pytest.mark.parametrize("text", [b"", b"null", b"[]", b"{}", b"{", b"\xff\xfe", b"[" * 100_000, b'{"kind":"shards"}'])
def test_what_is_no_manifest_is_refused(store, text):
    store.write(name_manifest(digest_of(text)), text)
    with pytest.raises(InputError, match="is not sound"):
        read_manifest(store, digest_of(text))


def test_a_manifest_whose_content_changed_is_refused(manifest, store):
    path = store.path(name_manifest(manifest.name))
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2'))
    with pytest.raises(InputError, match="does not have the content that its name stands for"):
        read_manifest(store, manifest.name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a" * 63, "", "x" * 64])
def test_a_name_that_is_none_is_refused(store, name):
    with pytest.raises(InputError):
        read_manifest(store, name)


def test_a_map_is_found_by_how_its_name_begins(manifest, store):
    assert find_manifest(store, manifest.name[:6]) == manifest.name
    with pytest.raises(InputError, match="0 maps"):
        find_manifest(store, "nothing")


@pytest.mark.parametrize("damage", ["flipped", "cut", "longer", "gone"])
def test_a_damaged_object_is_never_put_in_place(manifest, store, home, damage):
    sha256 = manifest.shards[1].sha256
    path = store.path(name_object(sha256))
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.unlink()
    if damage != "gone":
        path.write_bytes({"flipped": content, "cut": content[:50], "longer": content + b"x"}[damage])
    with pytest.raises(InputError) as refusal:
        pull(store, manifest.name, home)
    assert "\n" not in str(refusal.value)
    here = FolderStore(home)
    assert not here.exists(name_object(sha256))
    assert not here.exists(name_manifest(manifest.name))


def test_a_manifest_that_lies_of_a_size_harms_no_map_that_is_here(manifest, store, home, system):
    pull(store, manifest.name, home)
    for size in (5, manifest.shards[0].bytes + 1):
        name = forge(store, manifest, lambda tree, size=size: put(tree, ("shards", 0, "bytes"), size))
        with pytest.raises(InputError, match="does not have the content"):
            pull(store, name, home)
        assert not FolderStore(home).exists(name_manifest(name))
    assert verify(home, manifest) == []
    load_shards(manifest, home, system)


def test_a_pull_that_was_stopped_goes_on_with_what_is_missing(manifest, store, home):
    told = []

    def stop(line):
        told.append(line)
        if line.startswith("4 of"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(store, manifest.name, home, stop)
    assert not FolderStore(home).exists(name_manifest(manifest.name))
    pull(store, manifest.name, home, told.append)
    total = len(manifest.objects())
    assert f"{total - 4} of {total} objects are missing" in told[5]
    assert verify(home, manifest) == []


def test_what_is_here_is_not_asked_for_again(manifest, store, home):
    pull(store, manifest.name, home)
    for sha256, _ in manifest.objects():
        store.path(name_object(sha256)).unlink()
    assert pull(store, manifest.name, home) == manifest


def test_a_second_map_brings_only_what_differs(environment, manifest, store, home):
    from dataclasses import replace

    pull(store, manifest.name, home)
    initial = dict(environment.initial)
    initial["ridge.weights"] = environment.initial["ridge.weights"] + 1.0
    other, told = write_shards(replace(environment, initial=initial), store, target=TARGET), []
    pull(store, other.name, home, told.append)
    assert told[0].startswith(f"{len(other.shards)} of ")  # columns of W alone: descriptors and keypoints are the same


def test_verifying_finds_a_bit_that_flipped_on_this_disk(manifest, store, home):
    pull(store, manifest.name, home)
    path = FolderStore(home).path(name_object(manifest.shards[0].weights.sha256))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert verify(home, manifest) == [manifest.shards[0].weights.sha256]


def test_a_map_whose_object_is_gone_is_refused_when_it_is_loaded(manifest, store, system):
    store.path(name_object(manifest.shards[2].sha256)).unlink()
    with pytest.raises(InputError, match="no such object"):
        load_shards(manifest, store.folder, system)


ROW = {"values": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "ä"]), "none": np.zeros((0, 4), np.float16)}


def packed(tmp_path, content):
    path = tmp_path / "object"
    path.write_bytes(content)
    return open_packed(path, len(content))


def test_packed_arrays_read_back_mapped_and_aligned(tmp_path):
    found = packed(tmp_path, pack(ROW))
    for name, array in ROW.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        assert not found[name].flags.writeable
    assert found["values"].ctypes.data % 64 == 0


@pytest.mark.parametrize("array", [np.array([None]), np.array([1j]), np.array(["2020"], "M8[D]"), np.array([b"x"])])
def test_what_no_shard_holds_is_not_packed(array):
    with pytest.raises(ValueError, match="which no shard holds"):
        pack({"a": array})


def tampered(text, content=b"x" * 64):
    from struct import pack as pack_numbers

    head = pack_numbers("<8sII", b"TMAPRSHD", 1, len(text)) + text
    return head + bytes(-len(head) % 64) + content


LIARS = {
    "nothing": b"",
    "another file": b"PK\x03\x04" + bytes(100),
    "a later version": pack(ROW)[:8] + b"\x02" + pack(ROW)[9:],
    "a description that is longer than all": pack(ROW)[:12] + b"\xff\xff\xff\x7f" + pack(ROW)[16:],
    "its end missing": pack({"a": np.arange(9)})[:-8],
    "no JSON": tampered(b"{"),
    "an array beyond the end": tampered(b'{"a":{"type":"<f8","shape":[9],"offset":0}}'),
    "arrays that overlap": tampered(
        b'{"a":{"type":"<f8","shape":[8],"offset":0},"b":{"type":"<f8","shape":[1],"offset":0}}'
    ),
    "an offset between boundaries": tampered(b'{"a":{"type":"<f8","shape":[1],"offset":8}}'),
    "a negative offset": tampered(b'{"a":{"type":"<f8","shape":[1],"offset":-64}}'),
    "a negative shape": tampered(b'{"a":{"type":"<f8","shape":[-1,-8],"offset":0}}'),
    "a shape that overflows": tampered(b'{"a":{"type":"<f8","shape":[4294967296,4294967296],"offset":0}}'),
    "objects": tampered(b'{"a":{"type":"|O","shape":[8],"offset":0}}'),
    "a type of its own": tampered(b'{"a":{"type":"f8,f8","shape":[1],"offset":0}}'),
    "text without end": tampered(b'{"a":{"type":"<U99999","shape":[0],"offset":0}}'),
    "deep nesting": tampered(b"[" * 10_000),
}


@pytest.mark.parametrize("case", LIARS)
def test_an_object_that_is_none_is_refused_in_one_line(tmp_path, case):
    with pytest.raises(InputError, match="is damaged or no object of a map") as refusal:
        packed(tmp_path, LIARS[case])
    assert "\n" not in str(refusal.value)


def test_an_object_of_another_size_than_promised_is_refused(tmp_path):
    path = tmp_path / "object"
    path.write_bytes(pack(ROW))
    with pytest.raises(InputError, match="the manifest says 7"):
        open_packed(path, 7)


MISFITS = {
    "rows of another width": (
        "shards",
        lambda rows: rows | {"descriptors": np.zeros((len(rows["places"]), 7), np.float16)},
    ),
    "descriptors of float32": ("shards", lambda rows: rows | {"descriptors": rows["descriptors"].astype(np.float32)}),
    "fewer rows": ("shards", lambda rows: {name: array[1:] for name, array in rows.items()}),
    "other places": ("shards", lambda rows: rows | {"places": rows["places"] + 1000}),
    "places out of order": ("shards", lambda rows: rows | {"places": rows["places"][::-1].copy()}),
    "no positions": ("shards", lambda rows: {name: rows[name] for name in rows if name != "positions"}),
    "infinite descriptors": ("shards", lambda rows: rows | {"descriptors": rows["descriptors"] * np.float16(np.inf)}),
    "columns of others": ("weights", lambda arrays: {"weights": arrays["weights"][1:]}),
    "shorter columns": ("weights", lambda arrays: {"weights": arrays["weights"][:, 1:]}),
    "no columns": ("weights", lambda arrays: {"w": arrays["weights"]}),
}


@pytest.mark.parametrize("case", MISFITS)
def test_objects_with_right_hashes_that_do_not_fit_are_refused(manifest, store, system, case):
    kind, change = MISFITS[case]
    shard = manifest.shards[1]
    blob = shard if kind == "shards" else shard.weights
    arrays = dict(open_packed(store.path(name_object(blob.sha256)), blob.bytes))
    content = pack(change(arrays))
    store.write(name_object(digest_of(content)), content)
    way = ("shards", 1) if kind == "shards" else ("shards", 1, "weights")

    def forge_object(tree):
        put(tree, (*way, "sha256"), digest_of(content))
        put(tree, (*way, "bytes"), len(content))
        rename_map(tree)

    forged = read_manifest(store, forge(store, manifest, forge_object))
    with pytest.raises(InputError) as refusal:
        load_shards(forged, store.folder, system)
    assert "\n" not in str(refusal.value)
