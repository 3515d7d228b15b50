"""Recordings that change after they were encoded: each change, which images it needs, and what is encoded again.

Images that need not be read are blackened, with their sizes and time stamps kept: had they been read, the percepts
would not be those of the fresh folder.
"""

import os
import re
import shutil

from tmapr.artifacts.images import write_frame
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.experiment import read_experiment
from tmapr.running.encoding import Encoding
from tmapr.running.evaluating import evaluate_run
from tmapr.running.finished import FinishedRun
from tmapr.running.running import map_experiment, run_experiment
from walked import COUNT, blacken, view, without_times, write_list, write_walk


def finish_walk(home):
    """A walk, mapped, run and evaluated."""
    make(write_walk(home), home / "run")
    return home


def copy_walk(walked, home):
    """A copy of it, with the time stamps of the data, that a test may change."""
    shutil.copytree(walked, home)
    (home / "walk.toml").write_text((walked / "walk.toml").read_text().replace(str(walked), str(home)))
    return home


def experiment(home, **overrides):
    return changed(read_experiment(home / "walk.toml"), overrides)


def make(home, run, trust="stamps", **overrides):
    """Map if there is no map, run and evaluate; the lines that were told, and errors.json."""
    told, folder, asked = [], RunFolder(run), experiment(home, **overrides)
    encoding = Encoding(asked, folder, trust=trust, tell=told.append)
    if not folder.map.exists():
        map_experiment(asked, folder, encoding=encoding)
    run_experiment(asked, folder, encoding=encoding)
    evaluate_run(FinishedRun.load(folder)).save(folder.errors)
    return told


def images(home, name):
    return sorted((home / "data" / name).glob("*.png"))


def correct_positions(home):
    for name in ("noon", "night"):
        write_list(home / "data" / name, range(COUNT), shift=12.0)


def replace_image(home):
    write_frame(home / "data/noon/07.png", view(7, seed=42))


def remove_frames(home):
    write_list(home / "data/night", [row for row in range(COUNT) if row not in (4, 5, 9, 12)])
    for row in (4, 5, 9, 12):
        (home / f"data/night/{row:02}.png").unlink()


def extend_reference(home):
    for row in range(COUNT, COUNT + 5):
        write_frame(home / f"data/noon/{row:02}.png", view(row))
    write_list(home / "data/noon", range(COUNT + 5))


def freeze(home):
    shutil.copy(home / "data/night/03.png", home / "data/night/04.png")


def tear(home):
    (home / "data/night/03.png").write_bytes(b"\x89PNG torn")


def rename(home):
    for name in ("noon", "night"):
        table = home / "data" / name / "frames.csv"
        table.write_text(table.read_text().replace(".png", ".PNG"))
        for image in images(home, name):
            image.rename(image.with_suffix(".PNG"))


def touch(home):
    for image in images(home, "noon") + images(home, "night"):
        os.utime(image)


def change_stamps(home):
    table = home / "data/night/frames.csv"
    table.write_text(table.read_text().replace("1000000000", "1000000001"))


CHANGES = {
    "positions corrected by 12 m": (correct_positions, {}, {"noon": 0, "map": 1, "night": 0}),
    "one image replaced": (replace_image, {"noon": (7, 8)}, {"noon": 2, "map": 1}),
    "four frames removed": (remove_frames, {"night": (3, 6, 8, 10, 11, 13)}, {"night": 3}),
    "the reference extended": (extend_reference, {"noon": range(COUNT - 1, COUNT + 5)}, {"noon": 5, "map": 1}),
    "an image became that before it": (freeze, {"night": (3, 4, 5)}, {"night": 2}),
    "an image torn": (tear, {"night": (2, 3, 4)}, {"night": 2}),
    "files renamed": (rename, {"noon": range(COUNT), "night": range(COUNT)}, {}),
    "files copied": (touch, {"noon": range(COUNT), "night": range(COUNT)}, {}),
    "stamps changed": (change_stamps, {}, {"night": 0}),
}
"""How a recording changes, the images that are read then, and how many of which recording are encoded again."""


def assert_renewed(home, what):
    """After the change a run is that of a fresh folder, and no more is read than must be; a second run does nothing."""
    change, needed, encoded = CHANGES[what]
    change(home)
    make(home, home / "fresh")
    for name in ("noon", "night"):
        for image in images(home, name):
            if int(image.stem) not in needed.get(name, ()):
                blacken(image)
    assert count_encoded(make(home, home / "run")) == encoded
    for file in ("percepts/noon.npz", "percepts/night.npz", "map.npz", "state.npz", "estimates/night.csv"):
        assert (home / "run" / file).read_bytes() == (home / "fresh" / file).read_bytes(), file
    mine, fresh = (without_times((home / run / "errors.json").read_text()) for run in ("run", "fresh"))
    assert without_digests(mine) == without_digests(fresh)
    assert make(home, home / "run") == []


def count_encoded(told):
    """What lines say is encoded again, of which recording, and whether it is mapped again."""
    found = (re.match(r"(noon|night): .*?(\d+) of \d+ images are encoded again", line) for line in told)
    counts = {each[1]: int(each[2]) for each in found if each}
    return counts | ({"map": 1} if any("mapped again" in line for line in told) else {})


def without_digests(text):
    """Without that of the provenance, which has times in it."""
    return [line for line in text.splitlines() if "evaluated_sha256" not in line]
