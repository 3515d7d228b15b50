"""The same maps in a bucket, over HTTP: written, pulled, and not there when the network is not."""

import pytest

from bucket import BUCKET, environment_of, serving
from sharded import TARGET
from tmapr.exceptions import InputError
from tmapr.shards import pull, verify, write_shards
from tmapr.shards.manifest import list_manifests
from tmapr.store import name_object, open_store

pytest.importorskip("obstore")


@pytest.fixture
def server():
    with serving() as running:
        yield running


@pytest.fixture
def bucket(server, monkeypatch):
    for name, value in environment_of(server).items():
        monkeypatch.setenv(name, value)
    return open_store(f"s3://{BUCKET}/fleet")


@pytest.fixture
def manifest(environment, bucket):
    return write_shards(environment, bucket, target=TARGET)


def test_a_map_goes_to_a_bucket_and_comes_back_bit_for_bit(environment, manifest, bucket, store, tmp_path):
    assert manifest == write_shards(environment, store, target=TARGET)
    pull(bucket, manifest.name, tmp_path / "home")
    assert verify(tmp_path / "home", manifest) == []
    assert list_manifests(bucket) == [manifest.name]


def test_a_map_is_written_to_a_bucket_once(environment, manifest, bucket, server):
    server.asked.clear()
    assert write_shards(environment, bucket, target=TARGET) == manifest
    assert not [name for verb, name in server.asked if verb == "PUT"]


def test_an_object_that_is_missing_in_the_bucket_is_named_in_one_line(manifest, bucket, server, tmp_path):
    del server.objects[f"fleet/{name_object(manifest.shards[0].sha256)}"]
    with pytest.raises(InputError, match="has no object") as refusal:
        pull(bucket, manifest.name, tmp_path / "home")
    assert "\n" not in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_without_a_network_a_pull_is_refused_in_one_line(manifest, bucket, server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(InputError, match=r"s3://maps/fleet: .* cannot be read or written now") as refusal:
        pull(bucket, manifest.name, tmp_path / "home")
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "home").exists()
