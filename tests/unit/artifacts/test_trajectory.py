"""Estimates survive being written and read back, bit for bit; damaged files are refused by their place."""

import csv
import math
import struct
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tmapr.artifacts.trajectory import HEADER, load_estimates, save_estimates
from tmapr.data.coordinates import tangent_plane, utm_grid
from tmapr.exceptions import InputError
from tmapr.types import (
    NANOSECONDS,
    Belief,
    Candidate,
    Estimate,
    Percept,
    Reason,
    Recognition,
    RouteBelief,
    Status,
    Verdict,
)

STAMP = 1_628_847_484_123_456_789
DESCRIPTOR = np.array([0.6, 0.8])
CONTRACT = (
    "stamp_ns,x,y,heading,vx,vy,cov_xx,cov_xy,cov_yy,status,apr_x,apr_y,apr_heading,reference,ref_x,ref_y,place,"
    "similarity,score,leverage,support,margin,reason,confidence,innovation,learned,nis,"
    "first_reference,first_x,first_y,first_similarity,first_score,constrained,reference_sequence,p_place,p_off_map,"
    "lon,lat"
)


def belief(stamp, rng):
    root = rng.normal(size=(4, 4))
    return Belief(stamp, rng.normal(size=4) * 1e3, root @ root.T)


def bare(stamp, rng, *, believed=None, reason=Reason.NO_CANDIDATE):
    percept = Percept(stamp, DESCRIPTOR)
    return Estimate(belief(believed or stamp, rng), percept, None, Verdict(reason), Status.PREDICTING)


def full(stamp, rng, *, margin=0.1, heading=-2.5, sequence="noon"):
    x, y, similarity, score, support = rng.normal(size=5).tolist()
    first = Candidate(31, rng.normal(size=2), 7, *rng.normal(size=4).tolist())
    judged = Candidate(17, np.array([x, y]), 4, similarity, score, support, margin, sequence)
    return Estimate(
        belief(stamp, rng),
        Percept(stamp, DESCRIPTOR, rng.normal(size=2), heading),
        judged,
        Verdict(Reason.ACCEPTED, confidence=1 / 3, innovation=0.1 + 0.2),
        Status.LOCALIZED,
        Recognition((first, judged), 5e-324, constrained=True),
        nis=1.7,
        route=RouteBelief(0.1 + 0.2, 1 / 7, np.array([3]), np.array([0.3])),
    )


@pytest.fixture
def files(tmp_path):
    return tmp_path / "SEQ.csv", tmp_path / "SEQ.tum"


def written(files, estimates, learned=None):
    save_estimates(*files, estimates, [False] * len(estimates) if learned is None else learned)
    return load_estimates(files[0])


def bits(value):
    return struct.pack("<d", value)


def tum_rows(files):
    return [line.split(" ") for line in files[1].read_text().splitlines()]


def test_the_header_is_the_contract(files, rng):
    written(files, [bare(STAMP, rng)])
    assert files[0].read_text().splitlines()[0] == CONTRACT == HEADER


def test_a_frame_without_a_candidate_leaves_its_cells_empty(files, rng):
    written(files, [bare(STAMP, rng)])
    row = dict(zip(CONTRACT.split(","), files[0].read_text().splitlines()[1].split(","), strict=True))
    given = {"stamp_ns", "x", "y", "vx", "vy", "cov_xx", "cov_xy", "cov_yy", "status", "reason", "learned"}
    assert {name for name, cell in row.items() if cell} == given


def test_the_filter_reads_back_bit_for_bit(files, rng):
    estimates = [full(STAMP + frame, rng) for frame in range(20)]
    table = written(files, estimates)
    mean = np.stack([estimate.belief.mean for estimate in estimates])
    assert table.positions.tobytes() == mean[:, :2].tobytes()
    assert table.velocities.tobytes() == mean[:, 2:].tobytes()
    # The table holds the upper triangle of a symmetric matrix.
    upper = np.stack([estimate.covariance for estimate in estimates])[:, [0, 0, 1], [0, 1, 1]]
    np.testing.assert_array_equal(table.covariances[:, [0, 0, 1], [0, 1, 1]], upper)
    np.testing.assert_array_equal(table.covariances, table.covariances.swapaxes(1, 2))


def test_what_led_to_the_estimate_reads_back_bit_for_bit(files, rng):
    estimate = full(STAMP, rng)
    candidate, verdict = estimate.candidate, estimate.verdict
    table = written(files, [estimate])
    assert table.reference_positions.values.tobytes() == candidate.position.tobytes()
    assert table.apr_positions.values.tobytes() == estimate.percept.position.tobytes()
    pairs = [
        (table.headings, estimate.heading),
        (table.apr_headings, estimate.percept.heading),
        (table.similarities, candidate.similarity),
        (table.scores, candidate.score),
        (table.leverages, estimate.recognition.leverage),
        (table.supports, candidate.support),
        (table.margins, candidate.margin),
        (table.confidences, verdict.confidence),
        (table.innovations, verdict.innovation),
        (table.nis, estimate.nis),
    ]
    assert [bits(column.values[0]) for column, _ in pairs] == [bits(value) for _, value in pairs]
    assert (table.references.values[0], table.places.values[0]) == (17, 4)
    assert table.constrained.values.tolist() == [1]
    assert (table.statuses, table.reasons) == ((Status.LOCALIZED,), (Reason.ACCEPTED,))


def test_the_first_candidate_reads_back_bit_for_bit_beside_the_judged_one(files, rng):
    estimate = full(STAMP, rng)
    first, found = estimate.recognition.first, written(files, [estimate]).first
    assert found.references.values.tolist() == [31]
    assert found.positions.values.tobytes() == first.position.tobytes()
    assert bits(found.similarities.values[0]) == bits(first.similarity)
    assert bits(found.scores.values[0]) == bits(first.score)


@pytest.mark.parametrize(("recognition", "cell"), [(None, ""), (Recognition(), "0"), (Recognition((), 0.1, True), "1")])
def test_whether_places_constrained_the_search_is_told_of_every_frame_that_was_searched(recognition, cell, files, rng):
    written(files, [replace(bare(STAMP, rng), recognition=recognition)])
    assert files[0].read_text().splitlines()[1].split(",")[CONTRACT.split(",").index("constrained")] == cell


@pytest.mark.parametrize("name", ["noon", "2021-08-06/left", 'the "old" road, back', "Straße"])
def test_a_cell_names_the_traverse_of_the_judged_reference_whatever_it_is_called(name, files, rng):
    table = written(files, [full(STAMP, rng, sequence=name), bare(STAMP + 1, rng)])
    with files[0].open(newline="") as lines:
        assert [row[-5] for row in csv.reader(lines)] == ["reference_sequence", name, ""]
    assert table.reference_sequences.values.tolist() == [name, ""]
    assert table.reference_sequences.known.tolist() == [True, False]


def test_two_cells_say_how_probable_the_place_is_and_that_there_is_none(files, rng):
    table = written(files, [full(STAMP, rng), bare(STAMP + 1, rng)])
    assert [line.split(",")[-4:-2] for line in files[0].read_text().splitlines()[1:]] == [
        ["0.30000000000000004", "0.14285714285714285"],
        ["", ""],
    ]
    assert table.p_place.values[0] == 0.1 + 0.2
    assert table.p_off_map.values[0] == 1 / 7
    assert table.p_place.known.tolist() == table.p_off_map.known.tolist() == [True, False]


def test_none_is_told_from_a_value_in_every_column(files, rng):
    table = written(files, [full(STAMP, rng), bare(STAMP + 1, rng)])
    numbers = (
        *(table.headings, table.apr_positions, table.apr_headings, table.reference_positions),
        *(table.similarities, table.scores, table.leverages, table.supports, table.margins),
        *(table.confidences, table.innovations, table.first.positions, table.first.similarities, table.first.scores),
        *(table.p_place, table.p_off_map),
    )
    for column in (*numbers, table.references, table.places, table.first.references, table.constrained):
        assert column.known.tolist() == [True, False]
    for column in numbers:
        assert np.isnan(column.values[1]).all()


@pytest.mark.parametrize("frame", [tangent_plane(179.9999, 60.0), utm_grid("52N", 352_900.0, 4_026_400.0)])
def test_the_last_cells_are_longitude_and_latitude_where_the_map_has_them(frame, files, rng):
    placed = [replace(each, frame=frame) for each in (full(STAMP, rng), bare(STAMP + 1, rng))]
    table = written(files, placed)
    told = np.array([line.split(",")[-2:] for line in files[0].read_text().splitlines()[1:]], dtype=float)
    wanted = np.array([each.lon_lat for each in placed])
    assert table.degrees.values.tobytes() == told.tobytes() == wanted.tobytes()
    np.testing.assert_allclose(frame.to_degrees(table.positions), wanted, rtol=1e-15)


def test_the_trajectory_keeps_only_rows_later_than_all_before(files, rng):
    written(files, [bare(STAMP + offset, rng) for offset in (0, 0, 5, 2, 5, 6)])
    stamps = [Fraction(row[0]) * NANOSECONDS for row in tum_rows(files)]
    assert stamps == [STAMP, STAMP + 5, STAMP + 6]


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        (STAMP, "1628847484.123456789"),
        (1_628_847_484_000_000_001, "1628847484.000000001"),
        (0, "0.000000000"),
        (-1, "-0.000000001"),
        (-1_500_000_000, "-1.500000000"),
        (2**63 - 1, "9223372036.854775807"),
    ],
)
def test_a_trajectory_stamp_is_printed_from_the_integer(stamp, text, files, rng):
    table = written(files, [bare(stamp, rng)])
    assert tum_rows(files)[0][0] == text
    assert Fraction(text) * NANOSECONDS == stamp == table.stamps[0]


@pytest.mark.parametrize("heading", [0.0, 0.5, math.pi / 2, -3.0, math.pi])
def test_a_trajectory_row_is_the_position_on_the_ground_turned_by_the_heading(heading, files, rng):
    estimate = full(STAMP, rng, heading=heading)
    written(files, [estimate])
    _, x, y, z, qx, qy, qz, qw = map(float, tum_rows(files)[0])
    assert [x, y] == estimate.position.tolist()
    assert (z, qx, qy) == (0.0, 0.0, 0.0)
    turned = complex(qw, qz) ** 2
    assert turned == pytest.approx(complex(math.cos(heading), math.sin(heading)))


def test_columns_may_stand_in_any_order_beside_others(files, rng):
    table = written(files, [full(STAMP, rng), bare(STAMP + 1, rng)])
    rows = [line.split(",") for line in files[0].read_text().splitlines()]
    shuffled = "\r\n".join(",".join(["extra", *reversed(row)]) for row in rows)
    files[0].write_text(shuffled)
    np.testing.assert_array_equal(load_estimates(files[0]).positions, table.positions)


def test_a_failure_while_writing_leaves_the_old_files(files, rng):
    written(files, [bare(STAMP, rng)])
    before = [path.read_bytes() for path in files]
    with pytest.raises(ValueError, match="shorter"):
        save_estimates(*files, [bare(STAMP, rng), bare(STAMP + 1, rng)], [True])
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize("margin", [math.nan, -math.inf])
def test_a_value_that_could_not_be_read_back_is_not_written(margin, files, rng):
    with pytest.raises(ValueError, match=f"margin must be finite, got {margin}"):
        save_estimates(*files, [full(STAMP, rng, margin=margin)], [False])


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("x", "here", "line 3: x cannot be 'here'"),
        ("x", "", "line 3: x cannot be ''"),
        ("cov_xy", "nan", "line 3: cov_xy cannot be 'nan'"),
        ("vx", "inf", "line 3: vx cannot be 'inf'"),
        ("stamp_ns", "1.5", "line 3: stamp_ns cannot be '1.5'"),
        ("stamp_ns", "9223372036854775808", "line 3: stamp_ns cannot be '9223372036854775808'"),
        ("status", "found", "line 3: status cannot be 'found'"),
        ("reason", "", "line 3: reason cannot be ''"),
        ("learned", "yes", "line 3: learned cannot be 'yes'"),
        ("leverage", "high", "line 3: leverage cannot be 'high'"),
        ("place", "4.0", "line 3: place cannot be '4.0'"),
        ("apr_y", "", "line 3: only some of apr_x, apr_y are empty"),
        ("similarity", "", "line 3: only some of reference, ref_x"),
        ("p_off_map", "", "line 3: only some of p_place, p_off_map are empty"),
        ("lat", "", "line 3: only some of lon, lat are empty"),
        ("lon", "east", "line 3: lon cannot be 'east'"),
        ("x", "1,2", "line 3: has 39 fields, the header has 38"),
        ("x", '"1', "cannot be read as a table"),
    ],
)
def test_a_bad_cell_is_refused_by_file_line_and_value(column, cell, message, files, rng):
    placed = tangent_plane(10.0, 50.0)
    written(files, [replace(full(STAMP + row, rng), frame=placed) for row in (0, 1)])
    header, first, second = files[0].read_text().splitlines()
    cells = second.split(",")
    cells[header.split(",").index(column)] = cell
    files[0].write_text("\n".join([header, first, ",".join(cells)]))
    with pytest.raises(InputError) as refusal:
        load_estimates(files[0])
    assert str(refusal.value).startswith(f"{files[0]}: {message}")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no estimates"),
        (f"{CONTRACT}\n".encode(), "holds no estimates"),
        (b"stamp_ns,x\n1,2\n", "has no column y, heading, vx"),
        (f"{CONTRACT}\n\n".encode(), "line 2: has 0 fields"),
        (b"\xff\xfe\x00", "cannot be read as a table"),
        (b"stamp_ns\x00,x\n" * 3, "has no column stamp_ns"),
    ],
)
def test_a_file_that_is_no_table_is_refused(content, message, files):
    files[0].write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_estimates(files[0])


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_estimates(tmp_path / "none.csv")
