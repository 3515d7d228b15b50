"""A live drive through all of its threads, on the packaged street: the same as offline, whatever hangs beside it."""

import shutil
import threading
from dataclasses import replace

import numpy as np
import pytest

import tmapr
from tmapr.data.bag import GUESSED
from tmapr.exceptions import InputError
from tmapr.experiment import load
from tmapr.journal.journal import Journal
from tmapr.live.events import Arrival, Start
from tmapr.live.session import begin_session
from tmapr.live.sources.recorded import Iterated, Recorded
from tmapr.running.streams import open_streams
from tmapr.types import Fault, Reason, Status


class Kept:
    """A sink that keeps the answers; it may be told to wait for somebody, or to fail."""

    name = "kept"

    def __init__(self, complete=True, hold=None, error=None):
        self.complete, self.answers, self.reports, self.closed = complete, [], [], False
        self._hold, self._error = hold, error

    def begin(self, scene):
        self.scene = scene

    def take(self, answer):
        if self._hold:
            self._hold.wait()
        if self._error:
            raise self._error
        self.answers.append(answer)

    def report(self, health):
        self.reports.append(health)

    def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def night(scene):
    return list(tmapr.open_sequence(tmapr.locate_sample() / "night", frame=scene.localizer.frame))


def drive(scene, folder, source, *sinks, learn="off", **options):
    with begin_session(scene.map_folder, folder, learn) as session:
        begun = session.drive(source, sinks, **options)
        return begun.run(), begun.pipeline


def positions(kept):
    return np.array([answer.estimate.position for answer in kept.answers])


@pytest.fixture(scope="module")
def offline(scene, tmp_path_factory):
    return tmapr.run(scene.map_folder, tmapr.locate_sample() / "night", tmp_path_factory.mktemp("offline") / "run")


def test_without_learning_it_is_the_offline_run_bit_for_bit(scene, tmp_path, offline):
    kept, table = Kept(), offline.estimates()
    health, _ = drive(scene, tmp_path / "live", Recorded(tmapr.locate_sample() / "night", GUESSED), kept)
    assert (health.taken, health.answered, health.dropped) == (70, 70, 0)
    np.testing.assert_array_equal(positions(kept), table.positions)
    assert [answer.estimate.verdict.reason for answer in kept.answers] == list(table.reasons)
    assert [answer.estimate.status for answer in kept.answers] == list(table.statuses)
    assert [answer.number for answer in kept.answers] == list(range(70))
    assert kept.closed
    assert kept.reports[-1].answered == 70


def test_with_learning_it_is_the_offline_run_bit_for_bit(scene, tmp_path):
    kept = Kept()
    night = tmapr.locate_sample() / "night"
    run = tmapr.run(scene.map_folder, night, tmp_path / "run", learn="fused")
    health, _ = drive(scene, tmp_path / "live", Recorded(night, GUESSED), kept, learn="fused")
    assert health.lessons > 20
    np.testing.assert_array_equal(positions(kept), run.estimates().positions)


def test_an_offline_replay_of_the_journal_is_the_drive_bit_for_bit(scene, tmp_path, night):
    """Taught after the same frames as the journal says, another localizer gives the same answers and lessons."""
    kept = Kept()
    drive(scene, tmp_path / "live", Iterated(night * 2, waits=True), kept, learn="fused")
    journal = Journal.open(tmp_path / "live/journal")
    left_out = {number for skipped in journal.skipped for number in skipped}
    replayed, names = load(scene.map_folder, open_streams("cpu"), ["labels.mode=fused"]), []
    for number, answer in enumerate(kept.answers):
        again = replayed.observe(answer.estimate.percept)
        np.testing.assert_array_equal(again.position, answer.estimate.position)
        if number not in left_out:
            names += [lesson.name for lesson in replayed.teach(again)]
    assert names == [entry.name for entry in journal.lessons]
    assert len(names) > 20


def test_frames_that_nobody_has_time_for_are_dropped_oldest_first_and_counted(scene, tmp_path, night):
    """The program gives all frames at once; the last ones are answered, and every frame is answered or dropped."""
    kept = Kept()
    health, _ = drive(scene, tmp_path / "live", Iterated(night * 3, waits=False), kept, capacity=4)
    assert health.taken == 210
    assert health.answered + health.dropped == 210
    assert health.dropped > 0
    numbers = [answer.number for answer in kept.answers]
    assert numbers == sorted(numbers)
    assert numbers[-4:] == [206, 207, 208, 209]


def test_a_sink_that_hangs_costs_no_frame(scene, tmp_path, night):
    hold = threading.Event()
    hung, kept = Kept(complete=False, hold=hold), Kept()
    health, _ = drive(scene, tmp_path / "live", Iterated(night[:30], waits=True), hung, kept)
    assert (health.answered, health.dropped) == (30, 0)
    assert len(kept.answers) == 30
    part = next(part for part in health.parts if part.dropped)
    assert part.dropped + len(hung.answers) + 1 + 16 >= 30
    hold.set()


def test_a_sink_that_fails_is_told_of_once(scene, tmp_path, night, caplog):
    failing, kept = Kept(error=OSError(28, "No space left on device")), Kept()
    health, _ = drive(scene, tmp_path / "live", Iterated(night[:30], waits=True), failing, kept)
    assert (health.answered, len(kept.answers)) == (30, 30)
    said = [record.getMessage() for record in caplog.records if "No space left" in record.getMessage()]
    assert len(said) == 1


def test_a_sink_that_refuses_to_begin_ends_the_drive_before_it_begins(scene, tmp_path, night):
    class Refusing(Kept):
        def begin(self, _):
            raise InputError("port 9100 is taken")

    kept = Kept()
    with pytest.raises(InputError, match="9100"):
        drive(scene, tmp_path / "live", Iterated(night, waits=True), kept, Refusing())
    assert kept.closed


def test_a_hint_begins_the_drive_anew(scene, tmp_path, night):
    kept = Kept()
    there = night[30].position
    given = [Start(there, 2.0), *(Arrival(frame) for frame in night[30:40])]
    drive(scene, tmp_path / "live", Iterated(given, waits=True), kept)
    assert np.hypot(*(kept.answers[0].estimate.position - there)) < 3
    # What somebody said is no evidence: a place is localized once the pictures prove it.
    assert all(answer.estimate.status is not Status.LOST for answer in kept.answers)


def fail_with(error):
    raise error


NO_IMAGES = (
    lambda: fail_with(OSError("gone")),
    lambda: fail_with(InputError("damaged")),
    lambda: np.zeros((4, 4, 3), np.uint8),
    lambda: np.zeros((40, 50)),
    lambda: np.zeros((0, 50), np.uint16),
    lambda: None,
    lambda: np.zeros((1, 1), np.uint16),
    lambda: np.full((60, 80), 65_535, np.uint16),
)


def test_an_image_that_is_none_is_one_frames_misfortune(scene, tmp_path, night):
    kept, frames = Kept(), night[:40]
    for row, image in enumerate(NO_IMAGES):
        frames[20 + 2 * row] = replace(night[20 + 2 * row], image=image)
    health, _ = drive(scene, tmp_path / "live", Iterated(frames, waits=True), kept)
    assert (health.answered, health.dropped) == (40, 0)
    for answer in kept.answers[20:36:2]:
        assert answer.estimate.verdict.reason is Reason.FAULTY_FRAME
        assert answer.estimate.percept.fault in list(Fault)
    assert kept.answers[39].estimate.status is Status.LOCALIZED


def test_a_source_that_fails_ends_the_drive_with_its_reason(scene, tmp_path, night, caplog):
    def fail():
        yield from night[:10]
        raise OSError("the cable is out")

    health, _ = drive(scene, tmp_path / "live", Iterated(fail(), waits=True), Kept())
    assert health.answered == 10
    assert "the cable is out" in caplog.text


def test_stopped_it_answers_what_came(scene, tmp_path, night):
    kept = Kept()
    with begin_session(scene.map_folder, tmp_path / "live") as session:

        def give():
            yield from night[:20]
            begun.pipeline.stop()
            yield from night[20:]

        begun = session.drive(Iterated(give(), waits=True), [kept])
        health = begun.run()
    assert health.answered == health.taken == 20


def test_so_many_frames_and_no_more(scene, tmp_path, night):
    health, _ = drive(scene, tmp_path / "live", Iterated(night, waits=True), Kept(), frames=12)
    assert (health.taken, health.answered) == (12, 12)


def test_it_goes_on_where_it_was(scene, tmp_path, night):
    """Two halves with a restart between them are the whole, bit for bit."""
    whole, first, second = Kept(), Kept(), Kept()
    drive(scene, tmp_path / "whole", Iterated(night, waits=True), whole, learn="fused")
    drive(scene, tmp_path / "parts", Iterated(night[:40], waits=True), first, learn="fused")
    drive(scene, tmp_path / "parts", Iterated(night[40:], waits=True), second, learn="fused")
    np.testing.assert_array_equal(positions(whole), np.concatenate([positions(first), positions(second)]))


@pytest.mark.parametrize(("later", "goes_on"), [(1, True), (601, False), (-1, False)])
def test_after_a_long_pause_or_another_clock_it_begins_anew(scene, tmp_path, night, later, goes_on):
    """What it says is then what it says without a past."""
    moved = [replace(frame, stamp=frame.stamp + later * 10**9) for frame in night[40:50]]
    anew, after = Kept(), Kept()
    drive(scene, tmp_path / "anew", Iterated(moved, waits=True), anew)
    drive(scene, tmp_path / "live", Iterated(night[10:40], waits=True), Kept())
    drive(scene, tmp_path / "live", Iterated(moved, waits=True), after)
    assert np.array_equal(positions(anew), positions(after)) is not goes_on
    assert (after.answers[0].estimate.status is Status.LOCALIZED) is goes_on


def test_another_map_is_refused(scene, tmp_path, night):
    drive(scene, tmp_path / "live", Iterated(night[:3], waits=True), Kept())
    tmapr.make_map(tmapr.locate_sample() / "night", tmp_path / "other")
    with pytest.raises(InputError, match="another map"), begin_session(tmp_path / "other", tmp_path / "live"):
        pass


def test_the_maps_own_folder_is_left_alone(scene):
    with pytest.raises(InputError, match="--run"), begin_session(scene.map_folder, scene.map_folder):
        pass


def test_two_robots_do_not_share_a_folder(scene, tmp_path):
    with (
        begin_session(scene.map_folder, tmp_path / "live"),
        pytest.raises(InputError, match="is being written"),
        begin_session(scene.map_folder, tmp_path / "live"),
    ):
        pass


def test_learned_and_then_restarted_without_learning_the_guard_still_chooses(scene, tmp_path, night):
    """What a killed drive taught itself is in the journal alone; it may answer only where the guard lets it."""
    with begin_session(scene.map_folder, tmp_path / "live", "fused") as session:
        session.drive(Iterated(night, waits=True), [Kept()]).run()
        session.keeper.journal.flush()
        shutil.copytree(tmp_path / "live", tmp_path / "killed", symlinks=True)
    after = Kept()
    moved = [replace(frame, stamp=frame.stamp + 3600 * 10**9) for frame in night]
    health, _ = drive(scene, tmp_path / "killed", Iterated(moved, waits=True), after)
    anew = Kept()
    drive(scene, tmp_path / "anew", Iterated(moved, waits=True), anew)
    assert health.lessons == 0
    assert len(tmapr.load(tmp_path / "killed").classifier.ledger.names) > 20
    np.testing.assert_array_equal(positions(after), positions(anew))
