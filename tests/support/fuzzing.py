"""Damaged files by the thousand, read in a process of its own: `python fuzzing.py KIND SEED CASES`.

Each case may take five seconds, and all of them together no more than a gigabyte beyond what was loaded before. The
last line that it prints is JSON: how many files were read and refused, and what else happened.
"""

import json
import os
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import warnings
import zipfile
import zlib
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np

from tmapr.artifacts.images import read_image
from tmapr.artifacts.probe import probe
from tmapr.exceptions import InputError, TmaprError

SECONDS, BYTES = 5, 1 << 30
SCENE = (np.add.outer(np.arange(24), np.arange(32)) * 37 % 4096).astype(np.uint16)
NUMBERS = [b"nan", b"inf", b"1e308", b"-1", b"9" * 40, b"9" * 5000, b"0x" + b"f" * 99]
TOKENS = [
    *NUMBERS,
    *(each.encode() for each in "\"',\n\r#@;.=[]{}٣\0 "),
    *(b"[[", b"'''", b"null", b"true", b"{}", b"", b"[" * 2000, b'{"a":' * 500, b"a." * 100),
    *(b"\xff", b"\xef\xbb\xbf", b"\xff\xd8", b"\xff\xd0"),
]
WORDS = [0, 1, 2, 7, 8, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**24, 100_000]


def damage(content, rng):
    """Bits flipped, bytes cut off, repeated, moved, and numbers and words replaced by extreme ones."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        first = int(rng.integers(len(content) + 1))
        second = first + int(rng.choice([1, 1, 1, 2, 2, 4, 8, 64, len(content)]))
        part = content[first:second]
        match int(rng.integers(7)):
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
                content = content[:first] + TOKENS[int(rng.integers(len(TOKENS)))] + content[second:]
            case 5:
                packing, word = str(rng.choice(["<H", ">H", "<I", ">I", "<Q"])), int(rng.choice(WORDS))
                packed = struct.pack(packing, word % 256 ** struct.calcsize(packing))
                content = content[:first] + packed + content[first + len(packed) :]
            case 6:
                numbers = list(re.finditer(rb"-?\d+", content[:100_000]))
                if numbers:
                    found = numbers[int(rng.integers(len(numbers)))]
                    content = (
                        content[: found.start()] + NUMBERS[int(rng.integers(len(NUMBERS)))] + content[found.end() :]
                    )
    return content


def reseal_png(content):
    """Chunks with the checksums of what they now hold, so that damage gets past them."""
    at, sealed = 8, content[:8]
    while at + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, at)
        end = min(at + 8 + length, len(content) - 4)
        body = content[at + 4 : end]
        sealed += struct.pack(">I", max(len(body) - 4, 0)) + body + struct.pack(">I", zlib.crc32(body))
        at = end + 4
    return sealed


def damage_image(content, rng):
    spoiled = damage(content, rng)
    return reseal_png(spoiled) if content[1:4] == b"PNG" and rng.integers(2) else spoiled


def damage_archive(content, rng):
    """An npz spoiled as it is, or one of its members with a right checksum."""
    if not rng.integers(4):
        return damage(content, rng)
    with zipfile.ZipFile(BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = list(members)[int(rng.integers(len(members)))] if rng.integers(2) else "header.npy"
    members[chosen] = damage(members[chosen], rng)
    spoiled = BytesIO()
    with zipfile.ZipFile(spoiled, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return spoiled.getvalue()


@dataclass
class Target:
    """A good file by its path, how to spoil it, and what reads it."""

    path: Path
    read: callable
    spoil: callable = damage
    content: bytes = field(init=False)

    def __post_init__(self):
        self.content = self.path.read_bytes()


def encode(suffix, image, *options):
    return cv2.imencode(suffix, image, list(options))[1].tobytes()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_picture(path):
    probe(path)
    read_image(path)


def make_images(home, suffix, *kinds):
    gray = (SCENE >> 4).astype(np.uint8)
    pictures = {"deep": SCENE, "gray": gray, "colour": np.dstack([gray] * 3)}
    for number, (picture, *options) in enumerate(kinds):
        path = write(home / f"{number}{suffix}", encode(suffix, pictures[picture], *options))
        yield Target(path, read_picture, damage_image)


def make_png(home):
    return make_images(home, ".png", ("deep",), ("gray", cv2.IMWRITE_PNG_BILEVEL, 1), ("gray",), ("colour",))


def make_tiff(home):
    packed = [("deep", cv2.IMWRITE_TIFF_COMPRESSION, each) for each in (1, 5, 8, 32773)]
    return make_images(home, ".tiff", *packed, ("gray",), ("colour",))


def make_jpeg(home):
    steps, again = (cv2.IMWRITE_JPEG_PROGRESSIVE, 1), (cv2.IMWRITE_JPEG_RST_INTERVAL, 3)
    return make_images(home, ".jpg", ("gray",), ("gray", *steps), ("gray", *again), ("colour",), ("colour", *steps))


EXPERIMENT = """name = "x"
include = []
align_apr = "none"
[data]
root = "d"
reference = ["a", "b"]
test = ["c"]
[places]
cell = 15.0
use = ["unscented"]
[places.projection]
dimension = 64
[tracking.gates]
bounds = [0.0, 0.0, 1.0, 1e3]
"""


def make_toml(home):
    from tmapr.experiment import read_experiment

    yield Target(write(home / "e.toml", EXPERIMENT), lambda path: read_experiment(path))
    value = "places.cell=15.0\nfusion.noise='paper'\ndata.test=['a','b']"
    yield Target(write(home / "set.txt", value), read_overrides)


def read_overrides(path):
    from tmapr.config import load_settings
    from tmapr.experiment import Experiment

    try:
        load_settings(Experiment, None, path.read_bytes().decode("latin-1").split("\n"))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def make_csv(home):
    from tmapr.artifacts.trajectory import load_estimates
    from tmapr.data.folder import read_folder
    from tmapr.data.trajectory import read_stamps, read_tum

    picture = encode(".png", SCENE)
    metres = "stamp,file,x,y,heading,speed,yaw_rate\n" + "".join(f"{t}.5,a.png,{t},-2,0.1,3,0\n" for t in range(4))
    degrees = "lon,lat,file,stamp\n" + "".join(f'127.{d},36,"a.png",1628215174{d}00000000\n' for d in (1, 2))
    utm = "stamp,file,easting,northing,zone\n2021-08-06T10:59:33.1+09:00,a.png,350000,4020000,52N\n"
    for name, text in (("metres", metres), ("degrees", degrees), ("utm", utm)):
        write(home / name / "a.png", picture)
        path = write(home / name / "frames.csv", text)
        yield Target(path, lambda path: list(read_folder(path.parent.parent, path.parent.name)))
    yield Target(
        write(home / "a.tum", "# x\n" + "".join(f"{row}.25 {row} 0 0 0 0 0.6 0.8\n" for row in range(5))), read_tum
    )
    yield Target(write(home / "times.txt", "0.5\n1.5\n2.5\n"), read_stamps)
    yield Target(make_run(home) / "estimates/night.csv", load_estimates)


def make_run(home):
    """A small run with everything in it."""
    from commandline import command
    from made_up import thin_percepts, write_block
    from tmapr.artifacts.run import RunFolder

    write_block(home, size=60.0)
    folder = home / "runs/block"
    thin_percepts(RunFolder(folder), 20)
    for arguments in (("map", home / "block.toml"), ("run", home / "block.toml")):
        assert command(*arguments, "--run", folder, "--quiet") == 0
    assert command("evaluate", folder, "--quiet") == 0
    return folder


def make_npz(home):
    from tmapr.artifacts.beliefs import load_beliefs
    from tmapr.artifacts.candidates import RankedReferences
    from tmapr.artifacts.percepts import Recording
    from tmapr.experiment import read_experiment
    from tmapr.system import Map, resume

    folder = make_run(home)
    system = read_experiment(folder / "experiment.toml").system
    environment = Map.load(folder / "map.npz", system)
    mapped = environment.digest, len(environment.memory)
    frames = len(Recording.load(folder / "percepts/night.npz"))
    for name, read in (
        ("percepts/night.npz", Recording.load),
        ("map.npz", lambda path: Map.load(path, system)),
        ("state.npz", lambda path: resume(system, environment, path)),
        ("estimates/night.belief.npz", lambda path: load_beliefs(path, *mapped)),
        ("estimates/night.candidates.npz", lambda path: RankedReferences.load(path, *mapped, frames)),
    ):
        yield Target(folder / name, read, damage_archive)


def make_json(home):
    from tmapr.artifacts.documents.runs import Errors, Provenance
    from tmapr.artifacts.documents.studies import Ablation, Comparison
    from tmapr.artifacts.run import read_head_error
    from tmapr.cli.import_ import _read_fixes

    folder = make_run(home)
    yield Target(folder / "errors.json", lambda path: Errors.load(path, "again"))
    yield Target(folder / "provenance.json", lambda path: Provenance.load(path, "again"))
    rows = [{"key": "u", "title": "U", "kind": "subset", "settings": {"a": 1}, "test": {"night": {"rmse": 1.5}}}]
    known = {"made_by": "tmapr 0.1.0", "experiment": "e", "settings_sha256": "0", "alignment": "none", "labels": "off"}
    text = json.dumps({"kind": "ablation", **known, "rows": rows})
    yield Target(write(home / "ablation.json", text), lambda path: Ablation.load(path, "again"))
    text = json.dumps({"test": {"night": [{"name": "ours", "rmse": 1.5, "low": -1, "verdict": "better"}]}})
    yield Target(write(home / "comparison.json", text), lambda path: Comparison.load(path, "again"))
    yield Target(write(home / "gps.json", '[[127.1, 36.2], {"lon": 127.2, "lat": 36.2}, null]'), _read_fixes)
    text = json.dumps({"history": [{"number": 12, "mean": 1.5}]})
    record = write(home / "000012/training.json", text)
    yield Target(record, lambda path: read_head_error(str(path.with_name("head.safetensors"))))


def make_safetensors(home):
    import torch

    from tmapr.artifacts.run import file_digest
    from tmapr.perception.apr import AprHead
    from tmapr.perception.card import AprShape, Card
    from tmapr.perception.weights import read_checkpoint, save_checkpoint

    torch.set_num_threads(1)
    shape = AprShape(channels=8, width=8, layers=1, heads=2, hidden=8)
    head = AprHead(**shape.model_dump(exclude={"center", "scale"}))
    path = home / "head.safetensors"
    save_checkpoint(path, Card(apr=shape), {"apr": head})
    card = path.with_suffix(".json").read_text()
    digest = file_digest(path)

    def read_trusted(spoiled):
        """With a card that vouches for it."""
        path.with_suffix(".json").write_text(card.replace(digest, file_digest(spoiled)))
        read_checkpoint(spoiled)

    def read_card(spoiled):
        spoiled.with_suffix(".safetensors").write_bytes(path.read_bytes())
        read_checkpoint(spoiled.with_suffix(".safetensors"))

    yield Target(path, read_trusted)
    yield Target(write(home / "other.json", card), read_card)


def make_bags(home):
    from bags import ODOMETRY, START, TENTH, images, odometry, written
    from tmapr.data.bag import read_bag

    def go_through(path):
        for frame in read_bag(path, "run"):
            frame.image()

    entries = [
        *images([SCENE[:6, :8]] * 3),
        *((ODOMETRY, START + row * TENTH, odometry(row, 0.0, 0.1)) for row in range(3)),
    ]
    yield Target(written(home / "a.bag", "bag", entries), go_through)
    for kind in ("db3", "mcap"):
        folder = written(home / kind, kind, entries)
        (lone,) = folder.glob(f"*.{kind}")
        yield Target(lone, go_through)
        if kind == "mcap":
            yield Target(folder / "metadata.yaml", lambda path: go_through(path.parent))


KINDS = {
    "toml": make_toml, "csv": make_csv, "png": make_png, "tiff": make_tiff, "jpeg": make_jpeg, "npz": make_npz,
    "json": make_json, "safetensors": make_safetensors, "bags": make_bags,
}  # fmt: skip


class Slow(BaseException):
    """A case took too long."""


def give_up(*_):
    raise Slow


def rewrite(target, content):
    with target.path.open("r+b") as stream:
        stream.write(content)
        stream.truncate()


def try_case(target, content):
    """What became of it: None for a file that was read, its refusal, or a fault of ours with a star before it."""
    rewrite(target, content)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        target.read(target.path)
    except TmaprError as error:
        text = str(error)
        named = str(target.path.parent) in text or target.path.stem in text
        return text if "\n" not in text and named else f"* {text!r}"
    except Slow:
        return "* took too long"
    except Exception as error:
        return f"* {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def fuzz(kind, seed, cases):
    home = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    rng = np.random.default_rng([seed, *kind.encode()])
    signal.signal(signal.SIGALRM, give_up)
    try:
        targets = list(KINDS[kind](home))
        good = [answer for target in targets if (answer := try_case(target, target.content))]
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        result = {"read": 0, "refused": 0, "wrong": [f"a good file: {each}" for each in good]}
        with warnings.catch_warnings(action="error"):
            for case in range(cases):
                target = targets[int(rng.integers(len(targets)))]
                content = target.spoil(target.content, rng)
                answer = try_case(target, content)
                result["refused" if answer else "read"] += 1
                if answer and answer.startswith("*") and len(result["wrong"]) < 20:
                    result["wrong"].append(f"{kind} {seed} {case} {target.path.name}: {answer}"[:400])
                rewrite(target, target.content)
        return result
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    print(json.dumps(fuzz(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
    sys.stdout.flush()
    os._exit(0)  # at the limit of memory some libraries cannot even end
