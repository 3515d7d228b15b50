"""Files with random damage: refused in one line or read, never anything else, never for long."""

import struct
import time
import zlib

import cv2
import numpy as np

from tmapr.artifacts.images import read_image
from tmapr.data.folder import read_folder
from tmapr.data.trajectory import read_kitti, read_stamps, read_tum
from tmapr.exceptions import InputError

WHEN = 16_282_151_746
PNG = cv2.imencode(".png", np.arange(48, dtype=np.uint16).reshape(6, 8) * 300)[1].tobytes()
GOOD = {
    "metres/frames.csv": "\ufeffstamp,file,x,y,heading\r\n" + "".join(f"{t}.5,a.png,{t},-2,0.1\r\n" for t in range(4)),
    "degrees/frames.csv": "lon,lat,file,stamp\n" + "".join(f'127.{d},36,"a.png",{WHEN + d}00000000\n' for d in (1, 2)),
    "moments/frames.csv": "stamp,file\n2021-08-06T10:59:33.123456789+09:00,a.png\n2021-08-06T10:59:34Z,a.png\n",
    "tum/drive.tum": "# x\n" + "".join(f"{row}.25 {row} 1e-3 0 0 0 0.6 0.8\n" for row in range(5)),
    "tum/times.txt": "1.5\n",
    "kitti/poses.txt": "1 0 0 5 0 1 0 0 0 0 1 7e0\n",
    "kitti/times.txt": "0.000000e+00\n",
}  # fmt: skip
TOKENS = [
    *map(str.encode, ("nan", "1e308", "-", "9" * 30, '"', ",", "\n", "\r", "#", "@", ";", ".", "٣", "\u2028", "../"))
]
TOKENS += [b"\0", b"\xff", b"\xef\xbb\xbf", b" ", b""]


def damaged(content, rng):
    """Bytes flipped, cut off, repeated, moved, or replaced by what parsers stumble over."""
    for _ in range(rng.integers(1, 4)):
        first = int(rng.integers(len(content) + 1))
        second = first + int(rng.choice([1, 2, 3, 8, len(content)]))
        part = content[first:second]
        match rng.integers(5):
            case 0:
                flipped = bytes(byte ^ (1 << int(rng.integers(8))) for byte in part[:2])
                content = content[:first] + flipped + content[first + len(flipped) :]
            case 1:
                content = content[:first] + content[second:]
            case 2:
                content = content[:second] + part + content[second:]
            case 3:
                content = part + content[:first] + content[second:]
            case 4:
                content = content[:first] + TOKENS[rng.integers(len(TOKENS))] + content[second:]
    return content


def resealed(content):
    """A PNG whose chunks have the checksums of what they now hold, so that damage gets past them."""
    at, sealed = 8, content[:8]
    while at + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, at)
        end = min(at + 8 + length, len(content) - 4)
        body = content[at + 4 : end]
        sealed += struct.pack(">I", max(len(body) - 4, 0)) + body + struct.pack(">I", zlib.crc32(body))
        at = end + 4
    return sealed


def read(path):
    """Everything that a file's reader gives."""
    if path.suffix == ".png":
        read_image(path)
        return
    direct = {".tum": read_tum, "times.txt": read_stamps, "poses.txt": read_kitti}
    for ending, reader in direct.items():
        if path.name.endswith(ending):
            reader(path)
    for frame in read_folder(path.parent.parent, path.parent.name):
        assert abs(frame.stamp) < 2**62
        assert frame.position is None or np.isfinite(frame.position).all()
        assert frame.heading is None or abs(frame.heading) <= np.pi


def overwrite(path, content):
    """In place: a file made anew takes a hundred times as long on a disk."""
    with path.open("r+b") as stream:
        stream.write(content)
        stream.truncate()


def answer_to(path):
    """The refusal of a file, or None."""
    try:
        read(path)
    except InputError as refusal:
        return str(refusal)


def survive(home, rng, cases):
    """Damage one file after another; the share of them that could still be read."""
    for name, text in GOOD.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text, newline="")
        (home / name).with_name("a.png").write_bytes(PNG)
    assert [answer_to(home / name) for name in GOOD] == [None] * len(GOOD)
    (home / "lone.png").write_bytes(PNG)
    targets = [*((home / name, text.encode()) for name, text in GOOD.items()), (home / "lone.png", PNG)]
    accepted, slowest = 0, 0.0
    for _ in range(cases):
        path, content = targets[rng.integers(len(targets))]
        bad = damaged(content, rng)
        overwrite(path, resealed(bad) if path.suffix == ".png" and rng.integers(2) else bad)
        began = time.perf_counter()
        answer = answer_to(path)
        slowest = max(slowest, time.perf_counter() - began)
        assert answer is None or (answer.startswith(str(path.parent)) and "\n" not in answer), answer
        accepted += answer is None
        overwrite(path, content)
    assert slowest < 5.0
    return accepted / cases


def test_no_damage_leads_to_anything_but_a_refusal(tmp_path, rng):
    assert 0.1 < survive(tmp_path, rng, 2000) < 0.6


def test_no_damage_leads_to_anything_but_a_refusal_in_100_000_files(tmp_path, rng):
    survive(tmp_path, rng, 100_000)
