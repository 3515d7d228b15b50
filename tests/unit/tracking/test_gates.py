"""The gates: which one closes first, what it lets through, and why none can stay closed for ever."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmapr.tracking import Gates, History, Sighting
from tmapr.types import CHI2_95, NANOSECONDS, Belief, Candidate, Percept, Reason, Recognition

NOW = 1_628_847_484_000_000_000
HERE = np.zeros(2)
AXIS = 4.0
FRESH = History()
INNOVATION, RECOVERY = 20.0, 5


def gates(**changes):
    """The paper's numbers and nothing else, whatever the defaults are."""
    open_gates = {"bounds": None, "min_margin": 0.0, "max_speed": 20.0}
    paper = {"min_similarity": 0.82, "max_innovation": INNOVATION, "confidence_floor": 0.1, "max_jump": 10.0}
    return Gates(**open_gates | paper | {"expiry": 10.0, "recovery": RECOVERY} | changes)


GATES = gates()
STRICT = gates(min_margin=0.25, bounds=(-10.0, -5.0, 10.0, 5.0))


def east(metres):
    return np.array([metres, 0.0])


def candidate(metres, *, similarity=0.9, support=1.0, margin=1.0, reference=0):
    return Candidate(reference, east(metres), 0, similarity, 0.0, support, margin)


def percept(apr=0.0):
    return Percept(NOW, np.array([1.0, 0.0]), None if apr is None else east(apr))


def believed(metres=0.0, semi_axis=AXIS, stamp=NOW):
    variance = semi_axis**2 / CHI2_95
    return Belief(stamp, np.array([metres, 0.0, 0.0, 0.0]), np.diag([variance, variance, 1.0, 1.0]))


def sighting(metres, *, estimated=0.0, ago=1.0):
    return Sighting(NOW - round(ago * NANOSECONDS), east(metres), east(estimated))


def accepted(metres, **where):
    return History(accepted=sighting(metres, **where))


def dissent(metres, dissenters, *, last=-100.0, **where):
    return History(sighting(last), sighting(metres, **where), dissenters)


def reason(judges, given, apr, history=FRESH):
    return judges.judge(Recognition(given), percept(apr), believed(), history)[1].reason


@pytest.mark.parametrize(
    ("given", "apr", "history", "expected"),
    [
        ((), 0.0, FRESH, Reason.NO_CANDIDATE),
        ((candidate(1.0, similarity=0.8199),), 0.0, FRESH, Reason.LOOKS_DIFFERENT),
        ((candidate(1.0, similarity=0.82),), 0.0, FRESH, Reason.ACCEPTED),
        ((candidate(1.0, similarity=-1.0),), 0.0, FRESH, Reason.LOOKS_DIFFERENT),
        ((candidate(20.0),), 0.0, FRESH, Reason.ACCEPTED),
        ((candidate(20.01),), 0.0, FRESH, Reason.FAR_FROM_APR),
        ((candidate(23.99),), None, FRESH, Reason.ACCEPTED),
        ((candidate(24.01),), None, FRESH, Reason.FAR_FROM_BELIEF),
        ((candidate(5.0),), 0.0, accepted(-5.0), Reason.ACCEPTED),
        ((candidate(5.0),), 0.0, accepted(-5.01), Reason.JUMPS),
        ((candidate(5.0),), None, accepted(-25.0), Reason.ACCEPTED),
        ((candidate(5.0),), None, accepted(-25.01), Reason.JUMPS),
        ((candidate(5.0),), 0.0, accepted(-7.9, estimated=-3.0), Reason.ACCEPTED),
        ((candidate(5.0),), 0.0, accepted(-8.1, estimated=-3.0), Reason.JUMPS),
        ((candidate(5.0),), 0.0, accepted(-50.0, ago=10.0), Reason.JUMPS),
        ((candidate(5.0),), 0.0, accepted(-50.0, ago=10.01), Reason.ACCEPTED),
        ((candidate(5.0),), 0.0, dissent(5.0, RECOVERY - 2), Reason.JUMPS),
        ((candidate(5.0),), 0.0, dissent(5.0, RECOVERY - 1), Reason.ACCEPTED),
        ((candidate(5.0),), 0.0, dissent(15.01, RECOVERY - 1), Reason.JUMPS),
        ((candidate(5.0),), 0.0, dissent(5.0, RECOVERY - 1, ago=10.01), Reason.JUMPS),
        ((candidate(25.0),), 0.0, dissent(25.0, RECOVERY - 1), Reason.FAR_FROM_APR),
        ((candidate(25.0),), None, dissent(25.0, RECOVERY - 2), Reason.FAR_FROM_BELIEF),
        ((candidate(25.0),), None, dissent(25.0, RECOVERY - 1), Reason.RELOCALIZED),
        ((candidate(25.0),), None, dissent(55.01, RECOVERY - 1), Reason.FAR_FROM_BELIEF),
        ((candidate(25.0),), None, dissent(25.0, RECOVERY - 1, ago=10.01), Reason.FAR_FROM_BELIEF),
        ((candidate(5.0),), None, dissent(5.0, RECOVERY - 1), Reason.ACCEPTED),
    ],
)
def test_the_first_failing_gate_names_the_verdict(given, apr, history, expected):
    assert reason(GATES, given, apr, history) is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (candidate(1.0), Reason.ACCEPTED),
        (candidate(10.0), Reason.ACCEPTED),
        (candidate(10.01), Reason.OUT_OF_BOUNDS),
        (candidate(-10.0), Reason.ACCEPTED),
        (candidate(-10.01), Reason.OUT_OF_BOUNDS),
        (candidate(1.0, margin=0.25), Reason.ACCEPTED),
        (candidate(1.0, margin=0.24), Reason.AMBIGUOUS),
        (candidate(1.0, margin=float("inf")), Reason.ACCEPTED),
    ],
)
def test_a_gate_that_is_set_closes_on_one_side_of_its_boundary(given, expected):
    assert reason(STRICT, (given,), 0.0) is expected


@pytest.mark.parametrize(
    ("y", "expected"),
    [(5.0, Reason.ACCEPTED), (5.01, Reason.OUT_OF_BOUNDS), (-5.0, Reason.ACCEPTED), (-5.01, Reason.OUT_OF_BOUNDS)],
)
def test_the_bounds_close_to_the_north_and_the_south(y, expected):
    given = Candidate(0, np.array([0.0, y]), 0, 0.9, 0.0, 1.0, 1.0)
    assert reason(STRICT, (given,), 0.0) is expected


LADDER = [
    (candidate(99.0, similarity=0.1, support=0.0, margin=0.0), Reason.LOOKS_DIFFERENT),
    (candidate(99.0, support=0.0, margin=0.0), Reason.OUT_OF_BOUNDS),
    (candidate(9.0, margin=0.0), Reason.AMBIGUOUS),
    (candidate(9.0), Reason.FAR_FROM_APR),
]


@pytest.mark.parametrize(("given", "expected"), LADDER)
def test_the_gates_are_asked_in_their_order(given, expected):
    assert reason(STRICT, (given,), -90.0, accepted(-90.0)) is expected


def test_the_first_accepted_of_several_wins():
    given = (candidate(50.0), candidate(3.0, reference=7), candidate(1.0, reference=8))
    chosen, verdict = GATES.judge(Recognition(given), percept(), believed(), FRESH)
    assert (chosen.reference, verdict.reason) == (7, Reason.ACCEPTED)


def test_where_none_is_accepted_the_first_gives_the_reason():
    given = (candidate(50.0, reference=7), candidate(1.0, similarity=0.1))
    chosen, verdict = GATES.judge(Recognition(given), percept(), believed(), FRESH)
    assert (chosen.reference, verdict.reason) == (7, Reason.FAR_FROM_APR)


@pytest.mark.parametrize(
    ("metres", "similarity", "confidence"),
    [
        (0.0, 1.0, 1.0),
        (0.0, 0.9, 0.9),
        (5.0, 0.9, 0.9 * 0.75),
        (10.0, 0.82, 0.82 * 0.5),
        (17.9, 1.0, 0.105),
        (18.0, 1.0, 0.1),
        (19.9, 1.0, 0.1),
        (20.0, 0.9, 0.09),
    ],
)
def test_the_confidence_follows_equation_6(metres, similarity, confidence):
    _, verdict = GATES.judge(Recognition((candidate(metres, similarity=similarity),)), percept(), believed(), FRESH)
    assert verdict.confidence == pytest.approx(confidence, rel=1e-12)


def test_the_innovation_is_the_distance_to_the_apr_position():
    _, verdict = GATES.judge(Recognition((candidate(5.0),)), percept(-3.0), believed(100.0), FRESH)
    assert verdict.innovation == 8.0


def test_without_an_apr_position_the_innovation_is_the_distance_to_the_belief():
    _, verdict = GATES.judge(Recognition((candidate(5.0),)), percept(None), believed(-3.0), FRESH)
    assert verdict.innovation == 8.0


@pytest.mark.parametrize("semi_axis", [0.5, 4.0, 300.0])
@pytest.mark.parametrize(("beyond", "expected"), [(-0.01, Reason.ACCEPTED), (0.01, Reason.FAR_FROM_BELIEF)])
def test_without_an_apr_position_the_gate_is_as_much_wider_as_the_belief(semi_axis, beyond, expected):
    given = candidate(INNOVATION + semi_axis + beyond)
    assert GATES.judge(Recognition((given,)), percept(None), believed(semi_axis=semi_axis), FRESH)[1].reason is expected


@pytest.mark.parametrize("rejected", [(candidate(50.0),), (candidate(5.0, similarity=0.1),)])
def test_what_is_rejected_has_no_confidence(rejected):
    assert GATES.judge(Recognition(rejected), percept(), believed(), FRESH)[1].confidence is None


def test_a_similarity_below_zero_gives_no_confidence():
    lenient = gates(min_similarity=-1.0)
    assert (
        lenient.judge(Recognition((candidate(0.0, similarity=-0.5),)), percept(), believed(), FRESH)[1].confidence
        == 0.0
    )


def streamed(judges, frames, history=FRESH):
    """The reasons for a stream of (candidate's position or None, APR position or None), ten frames a second."""
    reasons = []
    for index, (metres, apr) in enumerate(frames):
        belief = believed(stamp=NOW + index * NANOSECONDS // 10)
        given = () if metres is None else (candidate(metres),)
        chosen, verdict = judges.judge(Recognition(given), percept(apr), belief, history)
        history = judges.remember(history, chosen, percept(apr), belief, verdict)
        reasons.append(verdict.reason)
    return reasons


A, J, B, R = Reason.ACCEPTED, Reason.JUMPS, Reason.FAR_FROM_BELIEF, Reason.RELOCALIZED


def test_the_allowance_is_the_displacement_not_the_path():
    there_and_back = [(0.0, 0.0)] + [(None, apr) for apr in (8.0, -8.0) * 20] + [(10.5, 0.0)]
    assert streamed(GATES, there_and_back)[-1] is J


def test_an_accept_is_measured_against_the_one_before_it():
    assert streamed(GATES, [(9.0 * step, 9.0 * step) for step in range(10)]) == [A] * 10


@pytest.mark.parametrize("recovery", [2, 5])
def test_agreeing_candidates_overrule_the_last_accept(recovery):
    wrong_then_true = [(-18.0, 0.0)] + [(0.0, 0.0)] * (recovery + 1)
    assert streamed(gates(recovery=recovery), wrong_then_true) == [A] + [J] * (recovery - 1) + [A, A]


@pytest.mark.parametrize("recovery", [2, 5])
def test_without_an_apr_position_agreeing_candidates_relocalize(recovery):
    far = [(100.0, None)] * recovery
    assert streamed(gates(recovery=recovery), far) == [B] * (recovery - 1) + [R]


def test_a_wild_pose_head_allows_no_more_than_the_top_speed():
    # Half a second at 20 m/s and the 10 m of any jump: 20 m, whatever the head says.
    wild = accepted(-15.01, estimated=300.0, ago=0.5)
    assert reason(gates(max_speed=20.0), (candidate(5.0),), 0.0, wild) is J
    assert reason(gates(max_speed=20.1), (candidate(5.0),), 0.0, wild) is A


def test_agreeing_candidates_may_move_with_the_camera():
    wrong_then_true = [(-18.0, 0.0)] + [(9.0 * step, 9.0 * step) for step in range(5)]
    assert streamed(GATES, wrong_then_true) == [A, J, J, J, J, A]


def test_candidates_that_disagree_do_not_add_up():
    scattered = [(-18.0, 0.0)] + [(metres, 0.0) for metres in (2.0, 18.0) * 10]
    assert streamed(GATES, scattered) == [A] + [J] * 20


def test_one_that_disagrees_starts_the_count_again():
    interrupted = [(-18.0, 0.0)] + [(0.0, 0.0)] * 3 + [(18.0, 0.0)] + [(0.0, 0.0)] * 5
    assert streamed(GATES, interrupted) == [A] + [J] * 8 + [A]


def test_frames_without_evidence_keep_the_count():
    interrupted = [(-18.0, 0.0)] + [(0.0, 0.0), (None, 0.0), (50.0, 0.0)] * 4 + [(0.0, 0.0)]
    reasons = streamed(GATES, interrupted)
    assert [reasons[at] for at in (1, 4, 7, 10, 13)] == [J, J, J, J, A]


def test_an_accept_ends_the_dissent():
    interrupted = [(metres, 0.0) for metres in (-18.0, 0.0, 0.0, 0.0, -10.0, 5.0, 5.0, 5.0, 5.0, 5.0)]
    assert streamed(GATES, interrupted) == [A, J, J, J, A, J, J, J, J, A]


@given(stream=st.lists(st.tuples(st.none() | st.floats(-60, 60), st.none() | st.just(0.0)), max_size=30))
def test_no_stream_can_lock_the_gates(stream):
    """Whatever came before, `recovery` candidates that agree with one another are enough."""
    steady = [(0.0, 0.0)] * RECOVERY
    assert streamed(GATES, [*stream, *steady])[-1] is A
