"""Encoding on a device: what the ordinary perceiver says of any frames, and nothing that a graph cannot hold."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace

import cv2
import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tmapr.data.folder import read_folder
from tmapr.data.health import Detector
from tmapr.data.sample import locate_sample
from tmapr.exceptions import InputError
from tmapr.gpu.encoder import GpuEncoder, PreparedNetwork
from tmapr.gpu.precision import lower_precision
from tmapr.gpu.preparation import Preparation
from tmapr.perception.apr import AprHead
from tmapr.perception.card import CLIP, AprShape, Card, Input
from tmapr.perception.image import Image
from tmapr.perception.network import Network, TorchEngine, assemble
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.pooling import Joined
from tmapr.perception.salad import Salad
from tmapr.perception.settings import Perception
from tmapr.perception.vit import VisionTransformer
from tmapr.types import Fault, Frame

SIZE = (98, 126)
WIDTH = 64
INPUT = Input(mean=CLIP[0], std=CLIP[1], size=SIZE)
APR = AprShape(channels=WIDTH, layers=1, heads=2, hidden=8, center=(331_234.5, 4_149_876.25), scale=350.0)
ROUNDING = {"rtol": 0, "atol": 2e-6}
"""Of unit descriptors, where batches of other sizes add in another order."""


def build_vit(*, posed):
    """A small ViT with both heads, or with one; no weight is a one or a zero that hides a mistake."""
    torch.manual_seed(5)
    vit = VisionTransformer(WIDTH, 2, 1, rows=5, columns=6)
    salad = Salad(WIDTH, clusters=8, cluster_dim=3, token_dim=5, hidden=16)
    head = AprHead(**APR.model_dump(exclude={"center", "scale"})) if posed else None
    with torch.no_grad():
        for part in (vit, salad, head) if head else (vit, salad):
            for parameter in part.parameters():
                parameter += 0.1 * torch.randn_like(parameter)
    network = Network(vit.fix_size(*SIZE), Joined([salad], (1.0,)), head, INPUT).eval().requires_grad_(False)
    return network, Card(input=INPUT, dimension=salad.dim, apr=APR if posed else None)


@pytest.fixture(scope="module", params=[True, False], ids=["posed", "unposed"])
def built(request):
    return build_vit(posed=request.param)


def look_through(built, image=None, dtype=torch.float32):
    """The ordinary perceiver and the device's, on a CPU."""
    (network, card), image = built, image or Image()
    eye = GpuEncoder(deepcopy(network), image, SIZE, "cpu", dtype)
    return Perceiver(card, image, TorchEngine(network, "cpu")), Perceiver(card, image, eye)


def make_frames(rng, *sides, depth=np.uint16):
    """Scenes of these sizes that move a little from one to the next."""
    coarse = rng.normal(3600, 300, (24, 30))
    scenes = [
        cv2.resize(np.roll(coarse, n, 1), (w, h), interpolation=cv2.INTER_CUBIC) for n, (h, w) in enumerate(sides)
    ]
    noisy = [scene + rng.normal(0, 4, scene.shape) for scene in scenes]
    return [show((counts if depth is np.uint16 else counts / 32).astype(depth), n) for n, counts in enumerate(noisy)]


def show(counts, index):
    return Frame("drive", index, 10**8 * index, lambda: counts)


def assert_same(found, expected):
    assert [percept.fault for percept in found] == [percept.fault for percept in expected]
    assert [percept.shift for percept in found] == [percept.shift for percept in expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.descriptor, theirs.descriptor, **ROUNDING)
        assert (ours.position is None) == (theirs.position is None)
        if theirs.position is not None:
            np.testing.assert_allclose(ours.position, theirs.position, rtol=0, atol=350 * 1e-5)
            assert ours.heading == pytest.approx(theirs.heading, abs=1e-5)


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_percepts_are_those_of_the_ordinary_perceiver(built, depth, rng):
    ordinary, device = look_through(built)
    frames = make_frames(rng, *[(120, 160)] * 3, depth=depth)
    assert_same(device.batch(frames), ordinary.batch(frames))
    assert_same([device(frame) for frame in frames], [ordinary(frame) for frame in frames])


def test_frames_may_change_their_size_and_depth(built, rng):
    ordinary, device = look_through(built)
    sizes = [*[(120, 160)] * 3, (121, 163), (96, 200), (120, 160)]
    frames = [*make_frames(rng, *sizes), *make_frames(rng, *sizes, depth=np.uint8)]
    assert_same(device.batch(frames), ordinary.batch(frames))
    assert_same(list(device.stream(frames, 4)), list(ordinary.stream(frames, 4)))


def test_more_sizes_than_are_kept_are_seen_all_the_same(rng):
    ordinary, device = look_through(build_vit(posed=False))
    frames = make_frames(rng, *[(100 + side, 130) for side in range(10)] * 2)
    assert_same([device(frame) for frame in frames], [ordinary(frame) for frame in frames])


def test_an_image_without_a_scene_is_a_fault_and_leaves_the_others_alone(built, rng):
    ordinary, device = look_through(built)
    lamps = np.zeros((120, 160), np.uint16)
    lamps[3, 5:9] = 700
    flat, bright = np.full((120, 160), 900, np.uint16), np.full((120, 160), 16383, np.uint16)
    frames = make_frames(rng, (120, 160), (120, 160))
    frames = [frames[0], show(flat, 1), show(bright, 2), show(lamps, 3), frames[1]]
    seen = device.batch(frames)
    assert [percept.fault for percept in seen] == [None, Fault.EMPTY, Fault.SATURATED, None, None]
    assert not seen[1].descriptor.any()
    assert seen[1].position is None
    assert_same(seen, ordinary.batch(frames))


def test_a_stream_is_inspected_and_its_turns_are_measured(built, rng):
    ordinary, device = look_through(built)
    frames = make_frames(rng, *[(128, 160)] * 4)

    def damaged():
        raise InputError("damaged")

    frames = [*frames, replace(frames[3], index=4), Frame("drive", 5, 6 * 10**8, damaged)]
    seen, expected = (each.with_inspection(Detector().inspect).batch(frames) for each in (device, ordinary))
    assert [percept.fault for percept in seen][4:] == [Fault.FROZEN, Fault.INVALID]
    assert sum(percept.shift is not None for percept in seen) >= 2
    assert_same(seen, expected)


def test_full_batches_give_a_frame_alone_what_it_has_among_others(built, rng):
    _, device = look_through(built)
    full = device.with_full_batches(4)
    frames = make_frames(rng, *[(120, 160)] * 6)
    together, alone = list(full.stream(frames, 4)), [full(frame) for frame in frames]
    np.testing.assert_array_equal([one.descriptor for one in together], [one.descriptor for one in alone])


def test_threads_that_ask_at_once_hear_what_one_hears(built, rng):
    network, _ = built
    eye = GpuEncoder(deepcopy(network), Image(), SIZE, "cpu", torch.float32)
    images = [frame.image() for frame in make_frames(rng, *[(120, 160)] * 12)]
    asked = [images[start : start + 2] for start in range(0, 12, 2)]
    expected = [eye.begin(each)().outputs.descriptors for each in asked]
    with ThreadPoolExecutor(max_workers=4) as threads:
        found = [seen.outputs.descriptors for seen in threads.map(lambda each: eye.begin(each)(), asked)]
    np.testing.assert_array_equal(found, expected)


def test_images_that_are_to_be_smoothed_are_prepared_by_the_host(built, rng):
    ordinary, device = look_through(built, Image(bilateral=5, crop=(1, 2, 3, 4)))
    frames = [*make_frames(rng, (120, 160), (121, 163)), show(np.full((99, 99), 9, np.uint16), 2)]
    assert_same(device.batch(frames), ordinary.batch(frames))


@pytest.mark.parametrize("counts", [np.zeros((64, 64)), np.zeros((64, 64, 3), np.uint8), np.zeros((64, 31), np.uint8)])
def test_what_is_no_image_is_refused_as_by_the_ordinary_perceiver(counts):
    told = []
    for perceiver in look_through(build_vit(posed=False)):
        with pytest.raises(InputError) as caught:
            perceiver(show(counts, 0))
        told.append(str(caught.value))
    assert told[0] == told[1]


@pytest.mark.parametrize(("dtype", "most"), [(torch.float16, 1e-4), (torch.bfloat16, 1e-2)])
def test_half_the_bits_leave_a_descriptor_where_it_was(dtype, most, rng):
    ordinary, device = look_through(build_vit(posed=True), dtype=dtype)
    frames = make_frames(rng, *[(120, 160)] * 4)
    for ours, theirs in zip(device.batch(frames), ordinary.batch(frames), strict=True):
        assert 1e-9 < 1 - ours.descriptor @ theirs.descriptor < most


def test_half_the_bits_leave_the_default_network_s_ranking(rng):
    settings = Perception(size=(112, 112))  # a processor is slow at it
    network, card = assemble(settings)
    drives = [list(read_folder(locate_sample(), name))[::40] for name in ("noon", "night")]
    half = Perceiver(card, settings.image, GpuEncoder(network, settings.image, settings.size, "cpu"))
    ordinary = Perceiver(card, settings.image, TorchEngine(network, "cpu"))
    noon, night = ([percept.descriptor for percept in half.batch(drive)] for drive in drives)
    noon_before, night_before = ([percept.descriptor for percept in ordinary.batch(drive)] for drive in drives)
    similar, before = np.array(night) @ np.array(noon).T, np.array(night_before) @ np.array(noon_before).T
    np.testing.assert_array_equal(similar.argmax(axis=1), before.argmax(axis=1))
    assert 0 < np.abs(similar - before).max() < 2e-3


def test_what_sets_metres_and_lengths_keeps_all_its_bits():
    lowered = lower_precision(build_vit(posed=True)[0], torch.float16)
    kept = {name for name, parameter in lowered.named_parameters() if parameter.dtype == torch.float32}
    assert {name.split(".")[-2] for name in kept if name.startswith("apr")} == {"0", "position", "heading"}
    assert {name for name in kept if not name.startswith("apr")} == {"descriptor.parts.0.dust_bin"}


class _Watch(TorchDispatchMode):
    """What torch is asked to do."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.asked.append(func.overloadpacket.__name__)
        if self.asked[-1] == "index" and any(index is not None and index.dtype == torch.bool for index in args[1]):
            self.asked.append("nonzero")
        return func(*args, **(kwargs or {}))


WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "bincount", "unique", "equal", "is_nonzero", "lift_fresh"}
"""They need the host on a GPU: their result has a size that depends on numbers, is a number, or comes from the host."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("sides", [(120, 160), (121, 163)])
def test_nothing_in_a_pass_waits_for_the_host(built, dtype, sides):
    prepare = Preparation(Image(), sides, np.dtype(np.uint16), SIZE)
    network = PreparedNetwork(prepare, lower_precision(built[0], dtype))
    with torch.no_grad(), _Watch() as watch:
        network(torch.zeros((1, *sides), dtype=torch.uint16))
    assert "scatter_add_" in watch.asked
    assert not WAITS & set(watch.asked)


def test_a_pass_stays_on_its_device(built):
    """On torch's device without memory, which refuses to be mixed with the host's, as a GPU does."""
    for sides in ((120, 160), (121, 163), (196, 252), (90, 140)):
        prepare = Preparation(Image(), sides, np.dtype(np.uint16), SIZE)
        network = PreparedNetwork(prepare, lower_precision(built[0], torch.float16)).to("meta")
        with torch.no_grad():
            assert network(torch.empty((2, *sides), dtype=torch.uint16, device="meta")).is_meta


def test_the_watch_sees_what_waits():
    with torch.no_grad(), _Watch() as watch:
        numbers = torch.arange(3)
        numbers[numbers > 1].sum().item()
        torch.tensor([1.0])
    assert WAITS & set(watch.asked) == {"_local_scalar_dense", "lift_fresh", "nonzero"}
