"""MS2, a car's stereo thermal cameras with GPS and odometry, as its authors lay it out:

    ROOT/sync_data/SEQ/thr/img_left/000000.png …    thr/img_left_timestamp.txt    (and img_right)
    ROOT/sync_data/SEQ/gps_imu/data/000000.txt …    gps_imu/data_timestamp.txt
    ROOT/odom/SEQ/thr/000000.txt …                  one for each image

A timestamp file has one integer of nanoseconds per line. A fix has one number per line: longitude, latitude, altitude
and more (the official description has the first two the other way round). An odometry file is the 4×4 pose of the
camera, x to the right and z forward, relative to the first image: seen from above, z is ahead and −x to the left.

The odometry starts anew in every sequence, so positions come from GPS. Headings come from the odometry, turned by its
rigid fit to the GPS track; without odometry they are the direction of travel.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tmapr.data.coordinates import ENU, from_degrees, tangent_plane, to_degrees
from tmapr.data.fitting import refuse_kind
from tmapr.data.poses import NO_POSES, Poses, fit_rotation, track_direction, wrap_angles
from tmapr.data.sequence import Sequence, from_files
from tmapr.data.stamps import parse_nanoseconds
from tmapr.data.stereo import list_names, refuse_skew, split_name, write_images
from tmapr.data.trajectory import parse_number, read_text
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame

_FIX = ("longitude", "latitude", "altitude")


def read_ms2(root: Path, name: str, frame: CoordinateFrame | None = None) -> Sequence:
    """Sequence SEQ/left or SEQ/right; without a frame, positions are relative to its own first fix."""
    drive = _locate(root, name)
    if not drive.folder.is_dir():
        raise InputError(f"{drive.folder}: no such folder; data.root must be the folder that holds sync_data")
    stamps = _read_stamps(drive.image_stamps)
    _refuse_others(drive.images, ".png", len(stamps), f"{drive.image_stamps.name} has {len(stamps)} stamps")
    files = [drive.images / f"{row:06d}.png" for row in range(len(stamps))]
    frame, poses = _read_poses(drive, stamps, frame)
    return from_files(name, frame, files, poses)


def write_ms2(root: Path, name: str, sequence: Sequence) -> None:
    """Write a sequence with positions in a tangent plane as SEQ/left or SEQ/right.

    The GPS and odometry that the other camera's writing left are kept. Odometry is written if every frame has a
    position and a heading; otherwise reading finds the direction of travel.
    """
    drive = _locate(root, name)
    if drive.images.exists():
        raise InputError(f"{drive.images}: exists already; remove it, or write to another folder")
    if drive.odometry.exists() and (poses := len(list_names(drive.odometry))) != len(sequence):
        raise InputError(
            f"{drive.odometry}: has the poses of {poses} images, and {name} has {len(sequence)};"
            " the left and the right camera take as many"
        )
    taken = write_images(sequence, ENU, lambda row, _: drive.images / f"{row:06d}.png")
    posed = np.isfinite(taken.positions).all(axis=1)
    if posed.any() and not drive.gps.exists():
        degrees = to_degrees(taken.positions[posed], sequence.frame)
        _write_files(drive.fixes, [f"{lon!r}\n{lat!r}\n0.0\n" for lon, lat in degrees.tolist()])
        _write_stamps(drive.fix_stamps, taken.stamps[posed])
    if posed.all() and np.isfinite(taken.headings).all() and not drive.odometry.exists():
        rows = _make_odometry(taken).tolist()
        _write_files(drive.odometry, ["".join(f"{' '.join(map(repr, row))}\n" for row in pose) for pose in rows])
    _write_stamps(drive.image_stamps, taken.stamps)  # last: what was cut short is refused when it is read


@dataclass(frozen=True, slots=True)
class _CameraFiles:
    """Where the files of one sequence and camera lie."""

    folder: Path
    side: str
    odometry: Path

    @property
    def images(self) -> Path:
        return self.folder / "thr" / f"img_{self.side}"

    @property
    def image_stamps(self) -> Path:
        return self.folder / "thr" / f"img_{self.side}_timestamp.txt"

    @property
    def gps(self) -> Path:
        return self.folder / "gps_imu"

    @property
    def fixes(self) -> Path:
        return self.gps / "data"

    @property
    def fix_stamps(self) -> Path:
        return self.gps / "data_timestamp.txt"


def _read_lines(path: Path) -> list[str]:
    return read_text(path).rstrip().splitlines()


def _locate(root: Path, name: str) -> _CameraFiles:
    sequence, side = split_name(name, "an MS2")
    return _CameraFiles(root / "sync_data" / sequence, side, root / "odom" / sequence / "thr")


def _read_stamps(path: Path) -> Int[np.ndarray, " n"]:
    """In the order of the file: a camera's clock may repeat a stamp or step back, and that is for others to judge."""
    lines = _read_lines(path)
    if not lines:
        raise InputError(f"{path}: lists no stamp")
    return np.array([parse_nanoseconds(line, f"{path}, line {row}") for row, line in enumerate(lines, start=1)])


def _refuse_others(folder: Path, suffix: str, count: int, known: str) -> None:
    """Files must be numbered from 0 without a gap and be as many as is known from elsewhere."""
    found, expected = set(list_names(folder)), {f"{row:06d}{suffix}" for row in range(count)}
    if not found:
        raise InputError(f"{folder}: is empty; {known} for as many files *{suffix}")
    if found != expected:
        name = min(found ^ expected)
        wrong = "is missing" if name in expected else "is one too many"
        raise InputError(f"{folder}: {name} {wrong}; {known} for {min(expected)} to {max(expected)}")


def _read_poses(
    drive: _CameraFiles, stamps: Int[np.ndarray, " images"], frame: CoordinateFrame | None
) -> tuple[CoordinateFrame, Poses]:
    """The poses of the images, and what they are relative to."""
    if not drive.gps.exists():
        return frame or CoordinateFrame(), NO_POSES.at(stamps)
    times = _read_stamps(drive.fix_stamps)
    _refuse_others(drive.fixes, ".txt", len(times), f"{drive.fix_stamps.name} has {len(times)} stamps")
    degrees = np.array([_read_fix(drive.fixes / f"{row:06d}.txt") for row in range(len(times))])
    own = tangent_plane(*degrees[0].tolist())
    refuse_kind(str(drive.gps), own, frame)
    frame = frame or own
    order = np.argsort(times, kind="stable")
    positions = from_degrees(degrees[order, 0], degrees[order, 1], frame)
    poses = Poses(times[order], positions, track_direction(positions)).at(stamps)
    if drive.odometry.exists():
        _refuse_others(drive.odometry, ".txt", len(stamps), f"{drive.images.name} has {len(stamps)} images")
        odometry = np.array([_read_pose(drive.odometry / f"{row:06d}.txt") for row in range(len(stamps))])
        poses = replace(poses, headings=_align_headings(odometry, poses))
    return frame, poses


def _read_fix(path: Path) -> tuple[float, float]:
    """Longitude and latitude in degrees."""
    lines = _read_lines(path)
    if len(lines) < len(_FIX):
        raise InputError(f"{path}: has {len(lines)} lines; a fix has {', '.join(_FIX)}, one per line")
    cells = enumerate(zip(_FIX, lines, strict=False), start=1)
    lon, lat, _ = (parse_number(line, what, f"{path}, line {row}") for row, (what, line) in cells)
    if abs(lat) > 90 or abs(lon) > 180 or lon == lat == 0:
        raise InputError(f"{path}: longitude {lon:g} and latitude {lat:g} are no fix; are lines 1 and 2 swapped?")
    return lon, lat


def _read_pose(path: Path) -> Float[np.ndarray, "4 4"]:
    words = read_text(path).split()
    if len(words) != 16:
        raise InputError(f"{path}: holds {len(words)} numbers; a 4×4 pose has 16")
    pose = np.array([parse_number(word, f"number {at}", f"{path}") for at, word in enumerate(words, 1)]).reshape(4, 4)
    refuse_skew(pose[:3, 2], f"{path}")
    return pose


def _align_headings(odometry: Float[np.ndarray, "n 4 4"], poses: Poses) -> Float[np.ndarray, " n"]:
    """The odometry's headings in the frame of the positions; those of the track if there is nothing to fit to."""
    known = np.isfinite(poses.positions).all(axis=1)
    angle = fit_rotation(_from_above(odometry[known, :3, 3]), poses.positions[known])
    if angle is None:
        return poses.headings
    ahead, left = _from_above(odometry[:, :3, 2]).T
    return wrap_angles(np.arctan2(left, ahead) + angle)


def _from_above(vectors: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
    """How far vectors in the camera's axes reach ahead and to the left."""
    return np.stack([vectors[:, 2], -vectors[:, 0]], axis=-1)


def _make_odometry(taken: Poses) -> Float[np.ndarray, "n 4 4"]:
    """Camera poses relative to the first; the inverse of `_from_above` for a camera that stays level."""
    start = taken.headings[0]
    to_first = np.array([[np.cos(start), np.sin(start)], [-np.sin(start), np.cos(start)]])
    ahead, left = to_first @ (taken.positions - taken.positions[0]).T
    cosine, sine = np.cos(taken.headings - start), np.sin(taken.headings - start)
    poses = np.tile(np.eye(4), (len(taken.stamps), 1, 1))
    poses[:, 0, 0], poses[:, 0, 2], poses[:, 0, 3] = cosine, -sine, -left
    poses[:, 2, 0], poses[:, 2, 2], poses[:, 2, 3] = sine, cosine, ahead
    return poses


def _write_files(folder: Path, texts: list[str]) -> None:
    folder.mkdir(parents=True)
    for row, text in enumerate(texts):
        (folder / f"{row:06d}.txt").write_text(text)


def _write_stamps(path: Path, stamps: Int[np.ndarray, " n"]) -> None:
    path.write_text("".join(f"{stamp}\n" for stamp in stamps.tolist()))
