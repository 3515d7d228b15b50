"""Real sets beside rendered worlds: small trees in their true layouts, and which matches are right."""

import cv2
import numpy as np
import pytest
import torch

from tmapr.exceptions import InputError
from tmapr.perception.encoder import Features
from tmapr.perception.pooling import GridPooling, Joined
from tmapr.training.real import RealSet, Recall, compare_centred, open_real_sets

SIZE = (40, 48)
PIXELS = Joined([GridPooling(SIZE[1], columns=1)], [1.0])


def as_pixels(pictures):
    """An encoder whose tokens are the rows of a picture."""
    tokens = torch.from_numpy(pictures).float()
    return Features(tokens, tokens.mean(dim=1), SIZE[0], 1)


def write_drive(folder, scenes, metres=2.0, start=0.0):
    """Images and frames.csv as Gardens Point and KAIST have them."""
    folder.mkdir(parents=True)
    rows = ["stamp,file,x,y"]
    for number, scene in enumerate(scenes):
        cv2.imwrite(str(folder / f"{number:05d}.jpg"), scene)
        rows.append(f"{1000 + number / 2:.3f},{number:05d}.jpg,{start + metres * number:.3f},0.000")
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")


def draw(rng, count):
    """Scenes that a JPEG keeps apart."""
    small = rng.integers(0, 255, (count, 5, 6)).astype(np.uint8)
    return [cv2.resize(each, SIZE[::-1], interpolation=cv2.INTER_NEAREST) for each in small]


@pytest.fixture
def folder(tmp_path, rng):
    """Eight places of each drive; at night the last looks like the fifth, which is three frames off."""
    scenes = draw(rng, 8)
    night = [*scenes[:7], scenes[4]]
    for name, shown in {"day_right": scenes, "day_left": scenes, "night_right": night}.items():
        write_drive(tmp_path / "gardens" / name, shown)
    # Asked for at 1, 3 … 9 metres, shown as at 4, 6, 4, 6 and 14: only the last is more than three metres off.
    write_drive(tmp_path / "kaist/visible", scenes)
    write_drive(tmp_path / "kaist/lwir", [scenes[2], scenes[3], *scenes[2:4], scenes[7]], start=1.0)
    sunny = {"bridge": scenes[0], "gate": scenes[1], "tower": scenes[1]}
    for condition, places in {
        "cloudy": dict(zip(("bridge", "gate", "tower"), scenes, strict=False)),
        "sunny": sunny,
    }.items():
        for place, picture in places.items():
            (tmp_path / "metu_vistir" / condition / place).mkdir(parents=True)
            cv2.imwrite(str(tmp_path / "metu_vistir" / condition / place / "1.jpg"), picture)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "share"),
    [("metu", 2 / 3), ("gardens_night", 7 / 8), ("gardens_left_night", 7 / 8), ("gardens_left", 1.0), ("kaist", 4 / 5)],
)
def test_a_match_is_right_within_two_frames_three_metres_or_at_the_same_scene(name, share, folder):
    found = open_real_sets(folder, as_pixels, SIZE)[name].measure(PIXELS)
    assert found.plain == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize("missing", ["metu_vistir", "gardens/night_right", "kaist/lwir"])
def test_a_folder_that_lacks_a_set_is_refused_by_its_name(missing, folder):
    (folder / missing).rename(folder / "elsewhere")
    with pytest.raises(InputError, match=f"{missing}.*--real"):
        open_real_sets(folder, as_pixels, SIZE)


def test_centring_compares_views_as_a_map_does_that_is_told_the_condition(rng):
    asked, mapped = (rng.normal(1.0, 1.0, (count, 5)) for count in (7, 9))
    asked, mapped = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (asked, mapped))
    expected = [mapped @ asked[0]]
    for row in range(1, 7):
        weight = 0.8 * row / (row + 20)
        own, others = asked[row] - weight * asked[:row].mean(axis=0), mapped - weight * mapped.mean(axis=0)
        expected.append([own @ each / np.sqrt((own @ own) * (each @ each)) for each in others])
    np.testing.assert_allclose(compare_centred(asked, mapped), expected)


def test_a_part_that_a_condition_adds_to_every_frame_is_lost_when_centred(rng):
    places, offset = rng.normal(size=(30, 16)), 4 * rng.normal(size=16)
    shown = [torch.from_numpy(each)[:, None].float() for each in (places + offset, places)]
    seen = [Features(tokens, tokens[:, 0], 1, 1) for tokens in shown]
    found = RealSet(*seen, np.eye(30, dtype=bool)).measure(Joined([GridPooling(16, rows=1, columns=1)], [1.0]))
    assert isinstance(found, Recall)
    assert found.centred > found.plain
