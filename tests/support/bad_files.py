"""Files that are not what they should be: how each comes about, the command that meets it, and the line it gets."""

import io
import json
import os
import socket
import struct
import zipfile
import zlib

import cv2
import numpy as np

from tmapr.artifacts.arrays import Header, save_arrays
from tmapr.artifacts.images import write_png

MAP = ("map", "block.toml", "--run", "run")
RUN = ("run", "block.toml", "--run", "run")
EVALUATE = ("evaluate", "run")
CONFIG = ("config", "block.toml")
CHECK = ("check", "drive")
SCENE = (np.add.outer(np.arange(24), np.arange(32)) * 37 % 4096).astype(np.uint16)
GRAY = (SCENE >> 4).astype(np.uint8)


def write_drive(home):
    """A folder with three images and a list of them, beside the run."""
    for name in "abc":
        write_png(home / f"drive/{name}.png", SCENE)
    (home / "drive/frames.csv").write_text("stamp,file,x,y\n1,a.png,0,0\n2,b.png,1,0\n3,c.png,2,0\n")


def replaced(name, make):
    """Something else in the place of a file."""

    def spoil(home):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        make(path)

    return spoil


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        before = os.getcwd()
        os.chdir(path.parent)  # the path of a socket has a hundred bytes
        server.bind(path.name)
        os.chdir(before)


def holding(content):
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def sparse(size):
    return lambda path: path.touch() or os.truncate(path, size)


def text(name, content):
    return replaced(name, holding(content))


def appended(content, name="block.toml"):
    def spoil(home):
        (home / name).write_text((home / name).read_text() + content)

    return spoil


def beginning(content):
    def spoil(home):
        (home / "block.toml").write_text(content + (home / "block.toml").read_text())

    return spoil


IRREGULAR = [
    # what, the file, the command
    ("an experiment", "pipe.toml", ("config", "pipe.toml")),
    ("a list of frames", "drive/frames.csv", CHECK),
    ("a map", "run/map.npz", RUN),
    ("a cache", "run/percepts/noon.npz", MAP),
    ("estimates", "run/estimates/night.csv", EVALUATE),
    ("a belief", "run/estimates/night.belief.npz", EVALUATE),
    ("candidates", "run/estimates/night.candidates.npz", EVALUATE),
    ("a provenance", "run/provenance.json", EVALUATE),
    ("a run's settings", "run/experiment.toml", EVALUATE),
    ("a checkpoint", "w.pth", ("weights", "inspect", "w.pth")),
    ("safetensors", "w.safetensors", ("weights", "inspect", "w.safetensors")),
    ("an exported network", "w.onnx", ("weights", "inspect", "w.onnx")),
    ("an image", "one.png", ("preview", "one.png")),
    ("a bag", "one.bag", ("check", "one.bag")),
    ("an MCAP file", "one.mcap", ("check", "one.mcap")),
]
FILES = [
    (f"{kind} for {what}", replaced(name, make), command, f"{name}: is {told}")
    for what, name, command in IRREGULAR
    for kind, make, told in (("a FIFO", pipe, "a FIFO"), ("a device", endless, "a "))  # a writer says that it is a link
]
FILES += [
    ("a socket for an experiment", replaced("s.toml", listening), ("config", "s.toml"), "s.toml: is a socket"),
    ("an experiment of 2 MiB", replaced("long.toml", sparse(2 << 20)), ("config", "long.toml"),
     "long.toml: has 2097152 bytes, a file of its kind at most 1048576"),
]  # fmt: skip

TOML = {
    "nested lists": ("deep = " + "[" * 50_000, "its values are nested more than 32 deep"),
    "closed nested lists": (f"deep = {'[' * 40}{']' * 40}\n", "its values are nested more than 32 deep"),
    "nested sections": (".".join("a" * 40) + " = 1\n", "a key has more than 32 parts"),
    "a key of a hundred thousand parts": ("a." * 100_000 + "a = 1\n", "a key has more than 32 parts"),
    "nested tables": ("deep = " + "{a = " * 500, "block.toml: is not TOML"),
    "a number of 5000 digits": (f"name = {'9' * 5000}\n", "a number has more than 64 bits"),
    "a number of 65 bits": (f"far = {2**64}\n", "a number has more than 64 bits"),
    "a hexadecimal number": (f"far = 0x{'f' * 3000}\n", "a number has more than 64 bits"),
    "a key twice": ('name = "a"\n', "block.toml: is not TOML: Cannot overwrite a value"),
    "a date for a name": ("name = 2021-08-06\n", "block.toml: is not TOML: Cannot overwrite"),
    "an include that is a text": ('include = "other.toml"\n', "include must be a list of files, got 'other.toml'"),
    "an include that is missing": ('include = ["other.toml"]\n', "other.toml: no such experiment file"),
    "an include that is a folder": ('include = ["run"]\n', "run: is a folder; name the experiment's TOML file"),
    "an include of itself": ('include = ["block.toml"]\n', "must not include others itself"),
}
FILES += [(f"an experiment with {what}", beginning(given), CONFIG, answer) for what, (given, answer) in TOML.items()]
FILES += [
    ("an experiment in Latin-1", text("block.toml", b'name = "caf\xe9"'), CONFIG, "block.toml: is not UTF-8 text"),
    ("an include that is a FIFO", lambda home: (beginning('include = ["p.toml"]\n')(home), pipe(home / "p.toml")),
     CONFIG, "p.toml: is a FIFO"),
    ("a nested override", lambda home: None, (*CONFIG, "--set", f"name={'[' * 5000}"), "is not a TOML value"),
]  # fmt: skip

RANGES = {
    "places.cell=1e300": "places.cell: input should be 0 or 1e-12 to 1e+12 in size, got 1e+300",
    "places.ridge=1e-9": "places.ridge: input should be greater than or equal to 0.000001, got 1e-09",
    "fusion.apr_variance=-1.0": "fusion.apr_variance: input should be greater than or equal to 0, got -1.0",
    "labels.delay=9999999999999": "labels.delay: input should be 0 or 1e-12 to 1e+12 in size",
    "tracking.gates.bounds=[0.0,0.0,1e99,1.0]": "tracking.gates.bounds: input should be 0 or 1e-12 to 1e+12 in size",
    "perception.size=[100000,224]": "perception.size.0: input should be less than or equal to 4096",
}
FILES += [(given, lambda home: None, (*CONFIG, "--set", given), answer) for given, answer in RANGES.items()]


def named(reference, adapt="dusk"):
    def spoil(home):
        given = (home / "block.toml").read_text()
        given = given.replace('reference = "noon"', f"reference = {json.dumps(reference)}")
        (home / "block.toml").write_text(given.replace('["dusk"]', json.dumps([adapt])))

    return spoil


FILES += [
    ("names that differ in case", named("Noon", "noon"), CONFIG, "'Noon' and 'noon' are one name to some file systems"),
    ("names that differ in encoding", named("caf\u00e9", "cafe\u0301"), CONFIG, "are one name to some file systems"),
    ("names that differ in a slash", named("/a", "a"), CONFIG, "'/a' and 'a' are one name to some file systems"),
    ("an empty name", named(""), CONFIG, "data: '' cannot name files"),
    ("a name with a zero byte", named("a\0b"), CONFIG, "cannot name files; use 1 to 200 bytes"),
    ("a name of a thousand letters", named("x" * 1000), CONFIG, "cannot name files; use 1 to 200 bytes"),
]

LISTS = {
    "60 000 columns": (
        "stamp,file" + ",x" * 60_000 + "\n1,a.png\n",
        "line 1: has 60002 cells; a table has at most 200",
    ),
    "a column twice": ("stamp,file,x,y,x\n1,a.png,0,0,0\n", "has the column 'x' twice"),
    "a short row": ("stamp,file,x,y\n1,a.png,0\n", "line 2: has 3 cells, there must be 4"),
    "semicolons": ("stamp;file\n1;a.png\n", "separates its columns with semicolons or tabs"),
    "an open quote": ('stamp,file\n1,"a.png\n', "is not a CSV file"),
    "a cell of a megabyte": ("stamp,file\n1," + "a" * 2**20 + "\n", "is not a CSV file (field larger than field limit"),
    "nothing": ("", "frames.csv: lists no frame"),
    "a header alone": ("stamp,file\n", "frames.csv: lists no frame"),
    "no UTF-8": (b"stamp,file\n1,\xff.png\n", "is not a CSV file in UTF-8"),
    "an infinite position": ("stamp,file,x,y\n1,a.png,inf,0\n", "x is inf; leave it empty where it is unknown"),
    "a position beyond the Earth": ("stamp,file,x,y\n1,a.png,1e30,0\n", "farther than any place on Earth"),
    "half a position": ("stamp,file,x,y\n1,a.png,1,\n", "has only one of x and y"),
    "degrees that are swapped": ("stamp,file,lon,lat\n1,a.png,36,127\n", "they seem to be swapped"),
    "degrees of no fix": ("stamp,file,lon,lat\n1,a.png,0,0\n", "a receiver without a fix says so"),
    "a heading in degrees": ("stamp,file,heading\n1,a.png,90\n", "it must be in radians"),
    "a stamp of 5000 digits": (
        f"stamp,file\n{'9' * 5000},a.png\n",
        "is neither seconds, nor nanoseconds, nor ISO-8601",
    ),
    "a stamp of next century": ("stamp,file\n99999999999999999999,a.png\n", "lies outside the years 1823 to 2116"),
    "stamps of two kinds": ("stamp,file\n1.5,a.png\n1628215174691250698,b.png\n", "write all of them in one way"),
    "a misspelt column": ("timestamp,file\n1,a.png\n", "is 'timestamp' the stamp?"),
    "an image that is missing": ("stamp,file\n1,z.png\n", "there is no image 'z.png' beside the file"),
    "a speed of light": ("stamp,file,speed\n1,a.png,3e7\n", "speed"),
    "a wrong zone": ("stamp,file,easting,northing,zone\n1,a.png,1,1,99\n", "need a column zone with one UTM zone"),
}
FILES += [
    (f"a list with {what}", text("drive/frames.csv", given), CHECK, answer) for what, (given, answer) in LISTS.items()
]


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, bits=16, colour=0, data=b""):
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def tiff(tags, data=b""):
    """A little-endian TIFF of these (tag, type, count, value), with data from byte 8."""
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory


def encoded(suffix, image, *options):
    return cv2.imencode(suffix, image, list(options))[1].tobytes()


def sized(content, height, width):
    """A JPEG whose frame header tells another size."""
    at = content.index(b"\xff\xc0") + 5
    return content[:at] + struct.pack(">HH", height, width) + content[at + 4 :]


WIDE = [(256, 4, 1, 60_000), (257, 4, 1, 60_000), (258, 3, 1, 16), (259, 3, 1, 5), (277, 3, 1, 1), (278, 4, 1, 60_000)]
BOMB = tiff([*WIDE, (273, 4, 1, 8), (279, 4, 1, 880_000)], bytes(880_000))
SMALL = [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 16), (259, 3, 1, 1), (277, 3, 1, 1)]
STRIP = [(273, 4, 1, 8), (278, 4, 1, 8), (279, 4, 1, 128)]
TILED = tiff([*SMALL, (322, 4, 1, 60_000), (323, 4, 1, 60_000), (324, 4, 1, 8), (325, 4, 1, 128)], bytes(128))
TAGS = tiff([*SMALL, *STRIP, *((1000 + row, 4, 1, 0) for row in range(5000))], bytes(128))
REPEATED = tiff([*SMALL, *STRIP, *((40_000 + row, 3, 60_000, 8) for row in range(900))], bytes(100))
JPEG = encoded(".jpg", GRAY)
STEPS = encoded(".jpg", GRAY, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
PICTURES = {
    "empty.png": (b"", "is empty; copy or record it again"),
    "text.png": (b"stamp,file\n", "is not a PNG, TIFF or JPEG image"),
    "cut.png": (encoded(".png", SCENE)[:-20], "is cut off or damaged"),
    "wide.png": (png(100_000, 100_000), "claims 100000x100000 pixels in"),
    "giant.png": (
        png(16_000, 16_000, data=bytes(600_000)),
        "claims 16000x16000 pixels of 16 bits, which are more than",
    ),
    "bits.png": (png(8, 8, bits=7, data=zlib.compress(bytes(100))), "is cut off or damaged"),
    "colour.png": (png(8, 8, colour=9), "is cut off or damaged"),
    "bomb.tiff": (BOMB, "claims 60000x60000 pixels of 16 bits, which are more than 256 MiB"),
    "tile.tiff": (TILED, "a tile: claims 60000x60000 pixels"),
    "tags.tiff": (TAGS, "has 5008 tags; at most 1000 are read"),
    "repeated.tiff": (REPEATED, "is cut off or damaged"),
    "strip.tiff": (tiff([*SMALL, (273, 4, 1, 8), (279, 4, 1, 10**6)], bytes(128)), "is cut off or damaged"),
    "strips.tiff": (tiff([*SMALL, (273, 4, 2**21, 8), (279, 4, 1, 8)], bytes(2**23)), "has 2097152 strips or tiles"),
    "none.tiff": (tiff(SMALL), "is cut off or damaged"),
    "float.tiff": (encoded(".tiff", SCENE.astype(np.float32)), "holds float32 values"),
    "cut.jpg": (JPEG[: len(JPEG) // 2], "is cut off or damaged"),
    "scan.jpg": (JPEG[:-40] + b"\xff\xd9", "is cut off or damaged"),
    "steps.jpg": (STEPS[: STEPS.rindex(b"\xff\xda")] + b"\xff\xd9", "is cut off or damaged"),
    "wide.jpg": (sized(JPEG, 60_000, 60_000), "claims 60000x60000 pixels of 8 bits, which are more than 256 MiB"),
    "tall.jpg": (sized(JPEG, 1000, 32), "is cut off or damaged"),
    "codes.jpg": (JPEG.replace(b"\xff\xc0", b"\xff\xc9"), "is cut off or damaged"),
    "palette.png": (encoded(".png", np.dstack([GRAY, 255 - GRAY, GRAY // 2])), "is a false-colour picture"),
}
FILES += [
    (f"the image {name}", text(name, content), ("preview", name), f"{name}: {answer}")
    for name, (content, answer) in PICTURES.items()
]


def rewritten(name, change, where="run"):
    """An array file with other arrays, header fields or notes, and right checksums."""

    def spoil(home):
        path = home / where / name
        with np.load(path) as file:
            arrays = {each: file[each] for each in file.files}
        fields = json.loads(str(arrays.pop("header")))
        change(arrays, fields)
        header = Header(fields["kind"], fields["version"], fields["settings"], fields["notes"])
        save_arrays(path, header, arrays)

    return spoil


def with_array(name, change):
    return lambda arrays, fields: arrays.update({name: change(arrays[name])})


def without(name):
    return lambda arrays, fields: arrays.pop(name)


def with_note(name, value):
    return lambda arrays, fields: fields["notes"].update({name: value})


def spoil_one(value):
    def change(array):
        changed = array.copy()
        changed.flat[0] = value
        return changed

    return change


def repacked(home, write):
    """The cache of the reference written by another hand."""
    path = home / "run/percepts/noon.npz"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path.unlink()
    write(path, members)


def compressed(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)


def boastful(path, members):
    """The head of an array tells of terabytes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, head.getvalue() + b"short" if name == "truth.npy" else member)


def crowded(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(1200):
            archive.writestr(f"{number}.npy", members["stamps.npy"])


ARRAYS = [
    ("map.npz", with_array("memory.positions", lambda a: a[:-1]), "references, memory.descriptors has"),
    ("map.npz", with_array("memory.positions", spoil_one(1e30)), "is not within -1e+08 and 1e+08; run `tmapr"),
    ("map.npz", with_array("memory.descriptors", spoil_one(np.nan)), "memory.descriptors, row 0: "),
    ("map.npz", with_array("memory.descriptors", lambda a: a * 0), "the length of a descriptor differs from 1 by 1"),
    ("map.npz", with_array("memory.places", lambda a: a + 10**12), "are not in the order of its"),
    ("map.npz", with_array("memory.turn_gain", lambda a: np.array(11.0)), "memory.turn_gain, 11.0 is not within -10"),
    ("map.npz", with_array("initial.grid.cells", lambda a: a * 0), "places share 1 cells"),
    ("map.npz", with_array("initial.ridge.ridge", lambda a: a * 3), "were made with another cell or ridge"),
    ("map.npz", without("fitted.reducer.axes"), "has no array 'fitted.reducer.axes'; run `tmapr map` again"),
    ("map.npz", with_note("digest", 7), "map.npz: digest: Input should be a valid string"),
    ("percepts/night.npz", with_array("truth", spoil_one(1e30)), "truth, row 0: "),
    ("percepts/night.npz", with_array("shifts", spoil_one(1.5)), "shifts, row 0: 1.5 is not within -1 and 1"),
    ("percepts/night.npz", with_array("faults", lambda a: np.full(a.shape, "rain")), "'rain' is no fault"),
]  # fmt: skip
FILES += [(f"{name} whose line says {answer}", rewritten(name, change), RUN, answer) for name, change, answer in ARRAYS]
FILES += [
    ("a compressed cache", lambda home: repacked(home, compressed), MAP, "noon.npz: is compressed; write it with"),
    ("an array that boasts", lambda home: repacked(home, boastful), MAP, "of shape (1000000000000,) in 5 bytes"),
    ("a crowded cache", lambda home: repacked(home, crowded), MAP, "noon.npz: claims 1200 arrays with"),
    ("a belief of another map", rewritten("estimates/night.belief.npz", with_note("map", "x")), EVALUATE,
     "night.belief.npz: was made with another map; run `tmapr run` again"),
    ("a belief without a map", rewritten("estimates/night.belief.npz", lambda a, f: f["notes"].pop("map")), EVALUATE,
     "night.belief.npz: map: Field required"),
    ("a belief beyond the map", rewritten("estimates/night.belief.npz", with_array("references", lambda a: a + 999)),
     EVALUATE, "is damaged, its arrays do not fit one another; run `tmapr run` again"),
    ("candidates of another map", rewritten("estimates/night.candidates.npz", with_note("map", "x")), EVALUATE,
     "night.candidates.npz: was made with another map; run `tmapr run` again"),
    ("candidates beyond the map", rewritten("estimates/night.candidates.npz", with_array("cosine", lambda a: a + 999)),
     EVALUATE, "night.candidates.npz: cosine, row 0: "),
]  # fmt: skip


def changed_document(name, change):
    def spoil(home):
        tree = json.loads((home / "run" / name).read_text())
        change(tree)
        (home / "run" / name).write_text(json.dumps(tree))

    return spoil


def first_cell(column, value):
    def spoil(home):
        path = home / "run/estimates/night.csv"
        header, first, *rows = path.read_text().splitlines()
        cells = first.split(",")
        cells[header.split(",").index(column)] = value
        path.write_text("\n".join([header, ",".join(cells), *rows]) + "\n")

    return spoil


FILES += [
    ("a provenance without a key", changed_document("provenance.json", lambda t: t.pop("labels")), EVALUATE,
     "provenance.json: labels: Field required; make it anew with `tmapr run"),
    ("a provenance of another kind", changed_document("provenance.json", lambda t: t.update(map=7)), EVALUATE,
     "provenance.json: map: Input should be a valid string"),
    ("a provenance of other sequences", changed_document("provenance.json", lambda t: t.update(sequences={})), EVALUATE,
     "provenance.json: knows nothing of 'night'; run `tmapr run` again"),
    ("a nested provenance", text("run/provenance.json", "[" * 10**6), EVALUATE, "json: content: Invalid JSON"),
    ("a long number in a provenance", text("run/provenance.json", "9" * 400), EVALUATE,
     "provenance.json: holds a number of more than 300 digits"),
    ("errors without a sequence", changed_document("errors.json", lambda t: t["test"]["night"].pop("fused")),
     ("report", "run"), "errors.json: test.night.fused: Field required; make it anew with `tmapr evaluate"),
    ("errors that are text", changed_document("errors.json", lambda t: t["test"]["night"].update(frames="many")),
     ("report", "run"), "errors.json: test.night.frames: Input should be a valid integer"),
    ("errors without a verdict", changed_document("errors.json", lambda t: t["test"]["night"].update(reasons={})),
     ("report", "run"), "errors.json: test.night.reasons: Dictionary should have at least 1 item"),
    ("errors with no frame of a status", changed_document("errors.json", lambda t: t["test"]["night"]["status"].update(
        lost=0)), ("report", "run"), "errors.json: test.night.status.lost: Input should be greater than 0"),
    ("an infinite estimate", first_cell("x", "inf"), EVALUATE, "line 2: x cannot be 'inf'"),
    ("an estimate beyond reason", first_cell("y", "1e300"), EVALUATE, "line 2: y cannot be '1e300'"),
    ("an estimate without a stamp", first_cell("stamp_ns", ""), EVALUATE, "line 2: stamp_ns cannot be ''"),
    ("a covariance that is none", first_cell("cov_xx", "-1.0"), EVALUATE, "is no covariance; run `tmapr run` again"),
    ("a covariance of nearly nothing", first_cell("cov_xx", "1e-320"), EVALUATE, "is no covariance; run `tmapr run`"),
    ("a status that is none", first_cell("status", "fine"), EVALUATE, "line 2: status cannot be 'fine'"),
    ("a stamp of 5000 digits in it", first_cell("stamp_ns", "9" * 5000), EVALUATE, "line 2: stamp_ns cannot be"),
    ("no bag", text("one.bag", "#ROSBAG V1.2\n"), ("check", "one.bag"), "one.bag: cannot be read"),
    ("an empty bag", text("one.mcap", ""), ("check", "one.mcap"), "one.mcap: cannot be read"),
    ("no checkpoint", text("w.pth", "text"), ("weights", "inspect", "w.pth"), "w.pth: is"),
    ("a long safetensors header", text("w.safetensors", struct.pack("<Q", 2**60)),
     ("weights", "inspect", "w.safetensors"), "w.safetensors: is not a whole safetensors file"),
]  # fmt: skip
