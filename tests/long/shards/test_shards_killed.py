"""A process that is killed while it pulls or exports leaves nothing that anybody would take for a map."""

import signal
import subprocess
import sys

import pytest

from sharded import TARGET
from tmapr.shards import pull, verify, write_shards
from tmapr.shards.manifest import list_manifests
from tmapr.store import FolderStore, digest_of

PULL = """
import sys, time
from pathlib import Path
from tmapr.shards import pull
from tmapr.store import open_store

def tell(line):
    print(line, flush=True)
    time.sleep(0.02)

pull(open_store(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), tell)
"""


@pytest.mark.parametrize("lines", [2, 9])
def test_a_pull_that_is_killed_leaves_whole_objects_and_no_map(environment, store, tmp_path, lines):
    manifest, home = write_shards(environment, store, target=TARGET), tmp_path / "home"
    words = [sys.executable, "-c", PULL, str(store.folder), manifest.name, str(home)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as pulling:
        for _ in range(lines):
            pulling.stdout.readline()
        pulling.send_signal(signal.SIGKILL)
        pulling.stdout.read()
    here = FolderStore(home)
    assert list_manifests(here) == []
    placed = list(here.list("objects"))
    assert lines - 1 <= len(placed) < len(manifest.objects())
    assert all(digest_of(here.read(name)) == name.rpartition("/")[2] for name in placed)
    told = []
    pull(store, manifest.name, home, told.append)
    assert told[0].startswith(f"{len(manifest.objects()) - len(placed)} of ")
    assert verify(home, manifest) == []


def test_an_export_that_was_stopped_is_no_map_until_it_is_done(environment, store):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shards(environment, store, stop, target=TARGET)
    assert list_manifests(store) == []
    assert list(store.list("objects"))
    manifest = write_shards(environment, store, target=TARGET)
    assert list_manifests(store) == [manifest.name]
