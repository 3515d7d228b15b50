"""The mark that perception settings leave on percepts, and whose percepts they refuse."""

import json
import re
import shutil

import numpy as np
import pytest

from tmapr.artifacts.percepts import Origin, Recording
from tmapr.artifacts.run import file_digest
from tmapr.exceptions import InputError
from tmapr.perception.card import Descriptor
from tmapr.perception.image import Image
from tmapr.perception.settings import DEFAULT_WEIGHTS, OWN, SHIPPED_HEAD, Perception

MINE = Perception()
SHIPPED = Descriptor(parts=("pooling", "salad"), weights=(1.0, 0.5), clusters=16)


@pytest.fixture
def weights(tmp_path):
    """Settings whose encoder, SALAD head and pose head are files that are here."""
    named = {part: tmp_path / f"{part}.pth" for part in ("encoder", "head", "apr")}
    for part, file in named.items():
        file.write_text(part)
    chosen = Descriptor(parts=("salad",))
    return Perception(**{part: str(file) for part, file in named.items()}, descriptor=chosen)


def as_kept(origin):
    """What a file's notes give back: JSON knows no tuples."""
    notes = json.loads(json.dumps({"settings": dict(origin.settings), "files": dict(origin.files)}))
    return Origin(**notes)


def refusal(settings, origin):
    with pytest.raises(InputError) as refused:
        settings.refuse_others("noon.npz", origin)
    said = str(refused.value)
    assert said.startswith("noon.npz: ")
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("settings", "descriptor"),
    [
        ({}, SHIPPED),
        ({"encoder": "exported.onnx"}, SHIPPED),
        ({"encoder": "vitb14.pth"}, Descriptor()),
        ({"encoder": OWN}, Descriptor()),
    ],
)
def test_the_descriptor_has_the_shipped_head_where_the_encoder_is_the_default_or_exported(settings, descriptor):
    assert Perception(**settings).descriptor == descriptor


@pytest.mark.parametrize(
    ("settings", "shipped"),
    [
        ({}, True),
        ({"descriptor": Descriptor()}, False),
        ({"encoder": "vitb14.pth", "descriptor": SHIPPED}, False),
        ({"head": "head.pth", "descriptor": SHIPPED}, False),
    ],
)
def test_the_shipped_head_is_used_where_the_default_encoder_needs_one_and_none_is_named(settings, shipped):
    assert Perception(**settings).uses_shipped_head is shipped


def test_the_default_is_marked_with_the_published_name_of_its_weights_and_its_heads_digest():
    assert MINE.origin.files == {"encoder": DEFAULT_WEIGHTS, "head": file_digest(SHIPPED_HEAD)}
    assert MINE.origin.settings["encoder"] == "default"


def test_files_are_marked_with_their_digests(weights, tmp_path):
    assert weights.origin.files == {part: file_digest(tmp_path / f"{part}.pth") for part in ("encoder", "head", "apr")}


def test_a_mark_survives_its_file(tmp_path):
    made = Recording.from_arrays("noon", np.arange(2), np.eye(2))
    marked = Recording(*(made.sequence, made.percepts, made.truth, made.known, made.frame), origin=MINE.origin)
    marked.save(tmp_path / "noon.npz")
    kept = Recording.load(tmp_path / "noon.npz").origin
    assert (kept.digest, kept.files) == (MINE.origin.digest, MINE.origin.files)
    MINE.refuse_others("noon.npz", kept)


@pytest.mark.parametrize("preset", ["raw", "ms2", "sthereo"])
def test_settings_accept_what_they_made(preset, weights):
    for settings in (Perception(image=Image(preset=preset)), weights):
        settings.refuse_others("noon.npz", as_kept(settings.origin))


@pytest.mark.parametrize(
    ("made_with", "named"),
    [
        (Perception(size=(256, 320)), ["perception.size = [256, 320] (now [224, 224])"]),
        (Perception(statistics="clip"), ["perception.statistics = clip (now checkpoint)"]),
        (Perception(image=Image(clip_limit=3.0)), ["perception.image.clip_limit = 3.0 (now 2.0)"]),
        (Perception(image=Image(crop=(1, 2, 3, 4))), ["perception.image.crop = [1, 2, 3, 4] (now [0, 0, 0, 0])"]),
        (
            Perception(descriptor=SHIPPED.model_copy(update={"grid": (3, 3)})),
            ["perception.descriptor.grid = [3, 3] (now [2, 4])"],
        ),
        (
            Perception(descriptor=Descriptor()),
            [
                "perception.descriptor.parts = ['pooling'] (now ['pooling', 'salad'])",
                "perception.descriptor.weights = [1.0] (now [1.0, 0.5])",
                "perception.descriptor.clusters = 64 (now 16)",
            ],
        ),
        (
            Perception(encoder="vitb14.pth", descriptor=SHIPPED),
            ["perception.encoder = vitb14.pth (now default)"],
        ),
        (
            Perception(image=Image(low=2.0), position_rule="exact"),
            ["perception.image.low = 2.0 (now 1.0)", "perception.position_rule = exact (now checkpoint)"],
        ),
    ],
)
def test_every_setting_that_differs_is_named(made_with, named):
    said = refusal(MINE, as_kept(made_with.origin))
    assert [difference for difference in named if difference not in said] == []
    assert said.endswith("; remove it to make it again")
    assert said.count("(now") == len(named)


@pytest.mark.parametrize("part", ["encoder", "head", "apr"])
def test_other_weights_under_the_same_name_are_refused_with_both_digests(part, weights, tmp_path):
    kept = as_kept(weights.origin)
    file = tmp_path / f"{part}.pth"
    old = file_digest(file)
    file.write_text("retrained")
    said = refusal(weights, kept)
    assert f"other {part} weights ({old[:12]}, now {file_digest(file)[:12]})" in said
    assert said.count("weights (") == 1


def test_weights_that_are_not_here_cannot_be_compared_and_are_accepted(weights, tmp_path):
    kept = as_kept(weights.origin)
    (tmp_path / "encoder.pth").unlink()
    weights.refuse_others("noon.npz", kept)


def test_weights_that_are_not_here_are_known_by_their_name_from_any_folder(weights):
    gone = [weights.model_copy(update={"encoder": name}) for name in ("elsewhere/encoder.pth", "elsewhere/other.pth")]
    changes = [each.changes_since(as_kept(weights.origin), "percepts") for each in gone]
    assert [len(each) for each in changes] == [0, 1]
    assert "perception.encoder" in changes[1][0]


def test_another_release_of_the_default_weights_is_refused_by_its_name():
    older = Origin(MINE.origin.settings, {"encoder": "efficientnet-lite0-00000000"})
    assert f"other encoder weights (efficientnet-lite0-00000000, now {DEFAULT_WEIGHTS})" in refusal(MINE, older)


def test_another_release_of_the_shipped_head_is_refused_by_its_digest():
    older = Origin(MINE.origin.settings, {"encoder": DEFAULT_WEIGHTS, "head": "0" * 64})
    digest = file_digest(SHIPPED_HEAD)
    assert f"other head weights (000000000000, now {digest[:12]})" in refusal(MINE, as_kept(older))


def test_the_shipped_head_is_the_same_under_a_name_of_its_own(tmp_path):
    shutil.copy(SHIPPED_HEAD, tmp_path / "copy.safetensors")
    named = Perception(head=str(tmp_path / "copy.safetensors"), descriptor=SHIPPED)
    named.refuse_others("noon.npz", as_kept(MINE.origin))
    MINE.refuse_others("noon.npz", as_kept(named.origin))


def test_percepts_without_a_mark_are_refused_with_the_way_out():
    assert 'set perception.encoder = "own" if your program did' in refusal(MINE, Origin())


def with_value(tree, path, value):
    """A copy of nested settings with one value changed or added."""
    first, *rest = path
    return {**tree, first: with_value(tree[first], rest, value) if rest else value}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("sharpness",), 1.0),
        (("image", "sharpness"), 1.0),
        (("descriptor", "parts"), ["netvlad"]),
        (("statistics",), "thermal"),
        (("image", "preset"), "boson"),
    ],
)
def test_settings_of_a_later_version_are_refused_by_name(path, value):
    later = Origin(with_value(MINE.origin.settings, path, value), MINE.origin.files)
    said = refusal(MINE, as_kept(later))
    assert re.search(rf"this version does not know its perception\.{'.'.join(path)}", said)


@pytest.mark.parametrize("path", [("position_rule",), ("image", "tiles"), ("descriptor", "power"), ("descriptor",)])
def test_a_setting_that_an_older_version_did_not_know_has_its_default(path):
    *sections, key = path
    tree = json.loads(json.dumps(dict(MINE.origin.settings)))
    section = tree
    for name in sections:
        section = section[name]
    section.pop(key)
    MINE.refuse_others("noon.npz", Origin(tree, MINE.origin.files))
