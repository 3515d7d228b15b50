"""Every store keeps the same promises: a name is written once, whole, and what is missing is told in one line."""

import pytest

from tmapr.exceptions import InputError
from tmapr.store import FolderStore, digest_of, name_manifest, name_object, open_store
from tmapr.store.remote import RemoteStore

NAME = name_object(digest_of(b"content"))
TRICKS = (
    "../out",
    "/etc/passwd",
    "objects/../../out",
    "objects//x",
    "",
    ".hidden",
    "objects/.x",
    "a\nb",
    "a\0b",
    "x" * 501,
)


@pytest.fixture(params=["folder", "local", "memory"])
def store(request, tmp_path):
    if request.param == "folder":
        return open_store(tmp_path / "store")
    from obstore.store import LocalStore, MemoryStore

    return RemoteStore(MemoryStore() if request.param == "memory" else LocalStore(tmp_path), request.param)


def test_what_is_written_is_read(store):
    store.write(NAME, b"content")
    assert store.exists(NAME)
    assert store.read(NAME) == b"content"


@pytest.mark.parametrize(("begin", "end", "part"), [(0, 3, b"con"), (4, 7, b"ent"), (4, 99, b"ent"), (2, 2, b"")])
def test_a_range_is_read_alone_and_ends_with_the_object(store, begin, end, part):
    store.write(NAME, b"content")
    assert store.read_range(NAME, begin, end) == part


def test_nothing_at_all_is_an_object_too(store):
    store.write(NAME, b"")
    assert store.exists(NAME)
    assert store.read(NAME) == b""


def test_a_name_keeps_what_it_was_given_first(store):
    store.write(NAME, b"first")
    store.write(NAME, b"second")
    assert store.read(NAME) == b"first"


def test_objects_are_listed_by_folder_in_order(store):
    names = [name_manifest(digest_of(bytes([each]))) for each in range(3)]
    for name in (*names, NAME):
        store.write(name, b"x")
    assert list(store.list("manifests")) == sorted(names)
    assert list(store.list("nothing")) == []


@pytest.mark.parametrize("ask", ["read", "read_range"])
def test_a_missing_object_is_refused_in_one_line(store, ask):
    with pytest.raises(InputError, match=r"object") as refusal:
        store.read(NAME) if ask == "read" else store.read_range(NAME, 0, 1)
    assert not store.exists(NAME)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", TRICKS)
def test_a_name_that_means_anything_else_is_refused(store, name):
    for ask in (store.read, store.exists, lambda name: store.write(name, b"x"), lambda name: list(store.list(name))):
        with pytest.raises(InputError, match="is no name of an object"):
            ask(name)


@pytest.mark.parametrize("sha256", ["", "a" * 63, "A" * 64, "a" * 64 + "\n", "../" + "a" * 61])
def test_only_a_digest_names_an_object(sha256):
    with pytest.raises(InputError, match="64 digits"):
        name_object(sha256)


@pytest.mark.parametrize("where", ["ftp://x/y", "http://x/y", "s3://user:secret@bucket/x", "s3://bucket/x?key=secret"])
def test_an_address_that_is_no_store_is_refused_without_its_secrets(where):
    with pytest.raises(InputError) as refusal:
        open_store(where)
    assert "secret" not in str(refusal.value)


def test_a_file_address_is_a_folder(tmp_path):
    store = open_store(f"file://{tmp_path}/store")
    store.write(NAME, b"x")
    assert FolderStore(tmp_path / "store").exists(NAME)


def test_a_writer_that_was_killed_leaves_no_object(tmp_path):
    store = FolderStore(tmp_path)
    store.write(NAME, b"x")
    left = store.path(NAME).with_name(".half.partial")
    left.write_bytes(b"half")
    assert list(store.list("objects")) == [NAME]


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    (tmp_path / "objects").write_text("a file where a folder should be")
    with pytest.raises(InputError, match="cannot be written"):
        FolderStore(tmp_path).write(NAME, b"x")
