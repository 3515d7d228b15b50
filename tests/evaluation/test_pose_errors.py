"""APE and RPE against evo on the same TUM files; what evo does not align, against SciPy."""

from dataclasses import asdict

import numpy as np
import pytest
from evo.core import metrics, sync
from evo.core.geometry import GeometryException
from evo.core.units import Unit
from evo.tools import file_interface
from scipy.spatial.transform import Rotation

from tmapr.evaluation.pose_errors import (
    Delta,
    PoseErrors,
    Trajectory,
    absolute_errors,
    align,
    associate,
    relative_errors,
)
from tmapr.exceptions import InputError

EPOCH = 1_628_847_484
RELATIONS = {
    "translation": metrics.PoseRelation.translation_part,
    "rotation": metrics.PoseRelation.rotation_angle_deg,
    "full": metrics.PoseRelation.full_transformation,
}
UNITS = {"frames": Unit.frames, "metres": Unit.meters}
ALIGNMENTS = ["none", "origin", "planar", "rigid", "similarity"]


def write(path, seconds, positions, rotations):
    """A TUM file with as many decimals as programs commonly write."""
    rows = zip(seconds, positions, rotations.as_quat(), strict=True)
    lines = (f"{second:.6f} " + " ".join(f"{number:.7f}" for number in (*xyz, *q)) for second, xyz, q in rows)
    path.write_text("# stamp x y z qx qy qz qw\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def drive(rng):
    """A winding way of 240 poses, and the same seen with noise, drift, another origin and another scale."""
    seconds = EPOCH + np.cumsum(rng.choice([0.066, 0.132], size=240))
    heading = np.cumsum(rng.normal(size=240) * 0.1)
    steps = np.column_stack([np.cos(heading), np.sin(heading), 0.05 * rng.normal(size=240)])
    positions, rotations = np.cumsum(steps, axis=0) * 0.7, Rotation.from_euler("z", heading[:, None])
    turn = Rotation.from_rotvec([0.2, -0.1, 2.5])
    noise = Rotation.from_rotvec(0.05 * rng.normal(size=(240, 3)))
    moved = 1.2 * turn.apply(positions + 0.3 * rng.normal(size=(240, 3))) + [300.0, -200.0, 7.0]
    return seconds, (positions, rotations), (moved, turn * rotations * noise)


def at(poses, rows):
    positions, rotations = poses
    return positions[rows], rotations[rows]


@pytest.fixture(params=["estimate shorter", "estimate longer", "estimate unsorted"])
def files(request, drive, rng, tmp_path):
    """Files of unequal lengths whose stamps are some milliseconds apart, some of them too many."""
    seconds, true, seen = drive
    late = seconds + rng.uniform(-0.012, 0.012, size=240)
    every, some = np.arange(240), np.sort(rng.choice(240, size=170, replace=False))
    rows, others = (some, every) if request.param == "estimate longer" else (every, some)
    if request.param == "estimate unsorted":
        rows, others = some, rng.permutation(240)
    return (
        write(tmp_path / "truth.tum", seconds[rows], *at(true, rows)),
        write(tmp_path / "seen.tum", late[others], *at(seen, others)),
    )


def planar_matrix(source, target):
    """The best turn around the vertical, which an infinite weight keeps, and the shift that joins the means."""
    up, flat, weights = np.array([[0.0, 0.0, 1.0]]), np.array([1.0, 1.0, 0.0]), np.append(np.ones(len(source)), np.inf)
    a, b = (np.vstack([(track - track.mean(axis=0)) * flat, up]) for track in (source, target))
    rotation, _ = Rotation.align_vectors(b, a, weights)
    matrix = np.eye(4)
    matrix[:3, :3] = rotation.as_matrix()
    matrix[:3, 3] = (target.mean(axis=0) - rotation.apply(source.mean(axis=0))) * flat
    return matrix


def evos(truth, seen, alignment):
    reference, estimate = (file_interface.read_tum_trajectory_file(str(path)) for path in (truth, seen))
    reference, estimate = sync.associate_trajectories(reference, estimate, max_diff=0.01)
    if alignment == "origin":
        estimate.align_origin(reference)
    if alignment == "planar":
        estimate.transform(planar_matrix(estimate.positions_xyz, reference.positions_xyz))
    if alignment in ("rigid", "similarity"):
        estimate.align(reference, correct_scale=alignment == "similarity")
    return reference, estimate


def ours(truth, seen, alignment):
    reference, estimate = associate(Trajectory.read(truth), Trajectory.read(seen), max_difference=0.01)
    return reference, align(estimate, reference, alignment)


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_ape_is_that_of_evo(files, alignment):
    theirs, pair = evos(*files, alignment), ours(*files, alignment)
    assert 100 < len(pair[0].stamps) < 170
    for relation, named in RELATIONS.items():
        metric = metrics.APE(named)
        metric.process_data(theirs)
        found = absolute_errors(*pair, relation)
        np.testing.assert_allclose(found, metric.error, atol=1e-9)
        assert asdict(PoseErrors.of(found)) == pytest.approx(metric.get_all_statistics(), rel=1e-9)


@pytest.mark.parametrize("all_pairs", [False, True])
@pytest.mark.parametrize(("value", "unit"), [(1, "frames"), (7, "frames"), (1.0, "metres"), (10.0, "metres")])
@pytest.mark.parametrize("alignment", ["none", "similarity"])
def test_rpe_is_that_of_evo(files, alignment, value, unit, all_pairs):
    theirs, pair = evos(*files, alignment), ours(*files, alignment)
    for relation, named in RELATIONS.items():
        metric = metrics.RPE(named, value, UNITS[unit], all_pairs=all_pairs)
        metric.process_data(theirs)
        found = relative_errors(*pair, relation, Delta(value, unit, all_pairs))
        np.testing.assert_allclose(found, metric.error, atol=1e-9)
        assert asdict(PoseErrors.of(found)) == pytest.approx(metric.get_all_statistics(), rel=1e-9)


def test_without_a_delta_relative_errors_are_those_of_evos_default(files):
    metric = metrics.RPE()
    metric.process_data(evos(*files, "none"))
    np.testing.assert_allclose(relative_errors(*ours(*files, "none")), metric.error, atol=1e-9)


@pytest.mark.parametrize("alignment", ["origin", "planar", "rigid"])
def test_no_rigid_alignment_changes_a_relative_error(files, alignment):
    np.testing.assert_allclose(
        relative_errors(*ours(*files, alignment)), relative_errors(*ours(*files, "none")), atol=1e-9
    )


def straight(tmp_path, count=60, spacing=0.1):
    """Even steps of a tenth of a metre, which add up to a metre only after rounding; and the same seen with noise."""
    seconds, still = EPOCH + 0.1 * np.arange(count), Rotation.identity(count)
    positions = np.column_stack([spacing * np.arange(count), np.zeros((count, 2))])
    return write(tmp_path / "a.tum", seconds, positions, still), write(
        tmp_path / "b.tum", seconds, positions * [1, 0, 0], still
    )


def test_even_steps_end_a_pair_where_evo_ends_it(tmp_path, rng):
    seen, _ = straight(tmp_path)
    truth = write(tmp_path / "truth.tum", EPOCH + 0.1 * np.arange(60), rng.normal(size=(60, 3)), Rotation.identity(60))
    metric = metrics.RPE(delta=1.0, delta_unit=Unit.meters)
    metric.process_data(evos(truth, seen, "none"))
    np.testing.assert_allclose(
        relative_errors(*ours(truth, seen, "none"), delta=Delta(1.0, "metres")), metric.error, atol=1e-9
    )


@pytest.mark.parametrize("late", [0.0, 0.01], ids=["repeated", "halfway and on the limit"])
def test_stamps_that_leave_a_choice_are_matched_as_evo_matches_them(tmp_path, rng, late):
    still, seconds = Rotation.identity(50), 0.02 * np.arange(50)
    repeated = np.repeat(seconds[::2], 2) if late == 0 else seconds
    truth = write(tmp_path / "a.tum", EPOCH + repeated, rng.normal(size=(50, 3)), still)
    seen = write(tmp_path / "b.tum", EPOCH + late + seconds, rng.normal(size=(50, 3)), still)
    reference, estimate = evos(truth, seen, "none")
    matched, other = ours(truth, seen, "none")
    np.testing.assert_array_equal(matched.positions, reference.positions_xyz)
    np.testing.assert_array_equal(other.positions, estimate.positions_xyz)


def test_positions_on_a_line_have_no_alignment_in_space_but_one_in_the_plane(tmp_path):
    truth, seen = straight(tmp_path)
    with pytest.raises(GeometryException):
        evos(truth, seen, "rigid")
    with pytest.raises(InputError, match="lie on a line"):
        ours(truth, seen, "rigid")
    np.testing.assert_allclose(absolute_errors(*ours(truth, seen, "planar")), 0.0, atol=1e-12)


def test_a_mirrored_map_is_turned_over_in_space_but_never_in_the_plane(drive, tmp_path):
    seconds, (positions, rotations), _ = drive
    flat = positions * [1, 1, 0]
    truth = write(tmp_path / "truth.tum", seconds, flat, rotations)
    seen = write(tmp_path / "seen.tum", seconds, flat * [1, -1, 1], rotations)
    np.testing.assert_allclose(absolute_errors(*ours(truth, seen, "rigid")), 0.0, atol=1e-6)
    assert absolute_errors(*ours(truth, seen, "planar")).max() > 1.0


def test_heights_and_tilts_are_left_alone_in_the_plane(files):
    reference, estimate = ours(*files, "none")
    moved = align(estimate, reference, "planar")
    np.testing.assert_array_equal(moved.positions[:, 2], estimate.positions[:, 2])
    np.testing.assert_allclose(moved.rotations.apply([0, 0, 1])[:, 2], estimate.rotations.apply([0, 0, 1])[:, 2])


def test_positions_alone_have_the_axes_of_the_map():
    track = Trajectory.of_positions(np.array([1, 2]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    assert track.positions.tolist() == [[3.0, 4.0, 0.0], [5.0, 6.0, 0.0]]
    np.testing.assert_array_equal(track.rotations.as_matrix(), [np.eye(3)] * 2)


def test_trajectories_of_other_days_are_refused(files, drive, tmp_path):
    seconds, true, _ = drive
    other = write(tmp_path / "other.tum", seconds + 86_400, *true)
    with pytest.raises(InputError, match=r"within 0.01 s; do their clocks agree"):
        ours(files[0], other, "none")


def test_stamps_may_be_written_in_any_way_that_our_files_allow(tmp_path):
    path = tmp_path / "one.tum"
    path.write_text("\ufeff2021-08-13T09:38:04.5Z\t1 2  3 0 0 0 1 # noon\n", encoding="utf-8")
    track = Trajectory.read(path)
    assert track.stamps.tolist() == [EPOCH * 10**9 + 5 * 10**8]
    assert (track.positions.tolist(), track.quaternions.tolist()) == ([[1.0, 2.0, 3.0]], [[0.0, 0.0, 0.0, 1.0]])


def test_a_file_that_is_no_trajectory_is_refused_by_its_line(tmp_path):
    path = tmp_path / "broken.tum"
    path.write_text("1.0 0 0 0 0 0 0 1\n2.0 0 0 0 0 0 0\n")
    with pytest.raises(InputError, match=r"broken.tum, line 2: has 7 cells"):
        Trajectory.read(path)


@pytest.mark.parametrize("delta", [Delta(60, "frames"), Delta(60, "frames", all_pairs=True), Delta(99.0, "metres")])
def test_poses_that_are_never_so_far_apart_have_no_relative_error(tmp_path, delta):
    assert len(relative_errors(*ours(*straight(tmp_path), "none"), delta=delta)) == 0


@pytest.mark.parametrize(("value", "unit"), [(0, "frames"), (1.5, "frames"), (-1.0, "metres"), (np.nan, "metres")])
def test_a_distance_between_poses_is_positive_and_of_frames_whole(value, unit):
    with pytest.raises(ValueError, match=f"got {value} {unit}"):
        Delta(value, unit)


def test_errors_of_nothing_are_refused():
    with pytest.raises(ValueError, match="must not be empty"):
        PoseErrors.of(np.zeros(0))
