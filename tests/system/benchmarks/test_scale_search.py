"""The benchmark of search at scale, small: what it makes is a map in shards, and what it measures is there."""

import numpy as np
import pytest

import scale_maps
from scale_search import judge, make, measure, relocalize
from tmapr.shards import read_manifest, verify
from tmapr.store import FolderStore
from tmapr.store.names import MANIFESTS

REFERENCES, QUERIES = 1500, 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Laps that nobody rendered: smooth descriptors along a circle, and the same with noise at night."""
    home, rng, arrays = tmp_path_factory.mktemp("scale"), np.random.default_rng(0), {}
    for number, family in enumerate(scale_maps.WORLDS):
        turn = np.linspace(0, 2 * np.pi, 120)
        waves = rng.normal(size=(2, 1984)) * 8
        noon = np.cos(np.column_stack([turn, np.sin(turn)]) @ waves + number)
        for weather, rows in (("noon", noon), ("night", noon + 0.5 * rng.normal(size=noon.shape))):
            unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            arrays[f"{family}.{weather}.descriptors"] = unit.astype(np.float32)
            arrays[f"{family}.{weather}.positions"] = 60.0 * np.column_stack([np.cos(turn), np.sin(turn)])
    np.savez(home / "laps.npz", **arrays)
    make(home, REFERENCES)
    return home


@pytest.fixture(scope="module")
def manifest(folder):
    store = FolderStore(folder / f"map-{REFERENCES}")
    (name,) = (path.stem for path in (store.folder / MANIFESTS).iterdir())
    return read_manifest(store, name)


def test_what_is_made_is_a_whole_map(folder, manifest):
    assert manifest.references == REFERENCES
    assert verify(folder / f"map-{REFERENCES}", manifest) == []


def test_references_a_metre_apart_look_alike_and_others_do_not(folder):
    laps = scale_maps.render_laps(folder / "laps.npz")
    rows = next(scale_maps.make_country(laps, REFERENCES)).descriptors
    near = np.einsum("nd,nd->n", rows[:-1], rows[1:])
    far = np.einsum("nd,nd->n", rows[:-60], rows[60:])
    assert np.median(near) > 0.9 > np.median(far) + 0.2


def test_every_figure_is_measured(folder):
    found = measure(folder, REFERENCES, QUERIES) | relocalize(folder, REFERENCES, QUERIES)
    assert all(np.isfinite(metric.value) for metric in judge(REFERENCES, found))
    assert found["exact"] == 1.0  # the shortlist is longer than the map
    assert 0 < found["reached_references"] < REFERENCES
