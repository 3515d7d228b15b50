"""Array files: what is written reads back bit for bit, and nothing else is believed."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

from tmapr.artifacts.arrays import Header, digest, load_arrays, put, save_arrays, take
from tmapr.exceptions import InputError

HEADER = Header("state", 3, "5e77", {"map": "abc", "nested": {"n": [1, 2.5, None]}})
ARRAYS = {
    "float64": np.array([[0.1, -0.0, np.nan], [np.inf, 5e-324, 1 / 3]]),
    "float32": np.linspace(0, 1, 7, dtype=np.float32),
    "int64": np.array([np.iinfo(np.int64).min, 0, np.iinfo(np.int64).max]),
    "bool": np.array([[True], [False]]),
    "text": np.array(["", "frozen", "Übergröße"]),
    "scalar": np.array(1_628_847_484_123_456_789),
    "empty": np.zeros((0, 4)),
    "owner.part.K": np.arange(24.0).reshape(2, 3, 4),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.npz"


@pytest.fixture
def saved(path):
    save_arrays(path, HEADER, ARRAYS)
    return path


def load(path, **options):
    return load_arrays(path, "state", 3, **options)


def refusal(path, **options):
    """The one line with which a file is refused; it begins with the file's name."""
    with pytest.raises(InputError) as refused:
        load(path, **options)
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_reads_back_bit_for_bit(name, saved):
    array = load(saved)[1][name]
    assert (array.dtype, array.shape) == (ARRAYS[name].dtype, ARRAYS[name].shape)
    assert array.tobytes() == ARRAYS[name].tobytes()


def test_the_header_reads_back(saved):
    header = load(saved)[0]
    assert (header.kind, header.version, header.settings, header.notes) == ("state", 3, "5e77", HEADER.notes)


def test_the_same_arrays_give_the_same_bytes(saved, tmp_path):
    again = tmp_path / "again.npz"
    save_arrays(again, HEADER, {name: array.copy(order="K") for name, array in ARRAYS.items()})
    assert again.read_bytes() == saved.read_bytes()


def test_numpy_opens_the_file_without_pickle(saved):
    with np.load(saved, allow_pickle=False) as archive:
        assert set(archive) == {"header", *ARRAYS}
        np.testing.assert_array_equal(archive["owner.part.K"], ARRAYS["owner.part.K"])


def test_every_member_starts_on_a_boundary_of_64_bytes(saved):
    content = saved.read_bytes()
    starts = [at for at in range(len(content)) if content.startswith(b"\x93NUMPY", at)]
    assert len(starts) == len(ARRAYS) + 1
    assert [start % 64 for start in starts] == [0] * len(starts)


@pytest.mark.parametrize("name", ["float64", "float32", "int64", "owner.part.K", "fortran", "empty"])
def test_a_mapped_array_equals_the_one_read(name, saved):
    np.testing.assert_array_equal(load(saved, mapped=frozenset({name}))[1][name], ARRAYS[name])


def test_a_mapped_array_cannot_be_written(saved):
    array = load(saved, mapped=frozenset({"float64"}))[1]["float64"]
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1.0


def test_a_mapped_array_outlives_the_file_that_replaces_it(saved):
    array = load(saved, mapped=frozenset({"float32"}))[1]["float32"]
    save_arrays(saved, HEADER, {"float32": np.full(7, 9, dtype=np.float32)})
    np.testing.assert_array_equal(array, ARRAYS["float32"])


def test_an_array_of_objects_is_not_written(path):
    with pytest.raises(ValueError, match="Object arrays"):
        save_arrays(path, HEADER, {"a": np.array([{}], dtype=object)})
    assert list(path.parent.iterdir()) == []


class Trap:
    """Unpickling it makes a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def npy(array, allow_pickle=False):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=allow_pickle)
    return stream.getvalue()


def described(**changes):
    fields = {"kind": "state", "version": 3, "made_by": "x", "settings": "", "notes": {}, "arrays": ["a"]} | changes
    return npy(json.dumps(fields))


def forge(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


@pytest.mark.parametrize("member", ["header", "a"])
def test_a_pickle_is_refused_and_never_run(member, path, tmp_path):
    trap = npy(np.array([Trap(tmp_path / "sprung")], dtype=object), allow_pickle=True)
    forge(path, **{"header": described(), member: trap})
    assert "it holds objects, and pickles are never read" in refusal(path)
    assert not (tmp_path / "sprung").exists()


def test_another_kind_is_refused_with_both_names(saved):
    with pytest.raises(InputError, match=r"state\.npz: holds 'state', not 'map'"):
        load_arrays(saved, "map", 3)


def test_another_version_is_refused_with_both_numbers_and_the_writer(saved):
    with pytest.raises(InputError, match=r"state\.npz: state version 3, .* reads version 4; make it again .*tmapr "):
        load_arrays(saved, "state", 4)


def test_arrays_without_a_header_are_refused(path):
    np.savez(path, a=np.arange(3))
    assert "has no header" in refusal(path)


@pytest.mark.parametrize("text", ["", "{", '"state"x', '{"kind": "state"}'])
def test_a_header_that_does_not_describe_is_refused(text, path):
    forge(path, header=npy(text))
    assert "is damaged or not one of our files" in refusal(path)


def test_an_array_shorter_than_it_says_is_refused(path):
    forge(path, header=described(), a=npy(np.arange(100.0))[:-8])
    assert "is damaged" in refusal(path)


def test_a_file_cut_off_anywhere_is_refused(path):
    save_arrays(path, HEADER, {"a": np.arange(5.0)})
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        assert "is damaged" in refusal(path)


@pytest.mark.parametrize("more", [bytes(100_000), bytes(1)])
def test_a_member_longer_than_its_array_is_refused(more, path):
    forge(path, header=described(), a=npy(np.arange(5.0)) + more)
    assert f"float64 of shape (5,) in {40 + len(more)} bytes" in refusal(path)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"stamp,file\n1,a.png\n", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_archive_of_ours_is_refused(content, path):
    path.write_bytes(content)
    refusal(path)


def test_a_missing_file_is_refused(path):
    assert refusal(path) == f"{path}: no such file"


def test_owners_find_their_arrays_again():
    mine = {"K": ARRAYS["float64"], "W": ARRAYS["float32"]}
    both = put("ridge.", mine) | put("grid.", {"K": ARRAYS["int64"]})
    assert take(both, "ridge.") == mine


def test_the_digest_does_not_depend_on_order_or_layout():
    shuffled = {name: np.array(ARRAYS[name], order="F") for name in reversed(ARRAYS)}
    assert digest(shuffled) == digest(ARRAYS)


@pytest.mark.parametrize(
    "other",
    [
        {"a": np.array([1.0, 2.0, 3.0])},
        {"b": np.array([1.0, 2.0])},
        {"a": np.array([1.0, np.nextafter(2.0, 3.0)])},
        {"a": np.array([1.0, 2.0], dtype=np.float32)},
        {"a": np.array([[1.0, 2.0]])},
        {"a": np.array([1.0, 2.0]).view(np.int64)},
        {},
    ],
    ids=["longer", "renamed", "one ulp", "narrower", "reshaped", "same bytes", "nothing"],
)
def test_the_digest_tells_names_shapes_types_and_bytes(other):
    assert digest(other) != digest({"a": np.array([1.0, 2.0])})


@pytest.mark.parametrize("text", ["[]", "null", "3", "{}", "[" * 100_000])
def test_a_header_that_is_no_object_is_refused(text, path):
    forge(path, header=npy(text))
    refusal(path)


@pytest.mark.parametrize("shape", [(10**14,), (10**40,)])
@pytest.mark.parametrize("mapped", [frozenset(), frozenset({"a"})])
def test_an_array_larger_than_memory_is_refused(shape, mapped, path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    forge(path, header=described(), a=head.getvalue())
    refusal(path, mapped=mapped)


def test_a_mapped_array_of_objects_is_refused(path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "|O", "fortran_order": False, "shape": (2,)})
    forge(path, header=described(), a=head.getvalue() + b"A" * 64)
    assert "holds objects" in refusal(path, mapped=frozenset({"a"}))


def test_no_flipped_bit_goes_unnoticed(path):
    """Anywhere in a small file, any bit: it is refused, or it reads exactly as before."""
    arrays = {"a": np.arange(6.0), "b": np.arange(3)}
    save_arrays(path, Header("state", 3, "5e77", {}), arrays)
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])
        for mapped in (frozenset(), frozenset({"a"})):
            try:
                _, read = load_arrays(path, "state", 3, mapped=mapped)
            except InputError:
                continue
            assert digest(read) == digest(arrays), f"byte {at}"
