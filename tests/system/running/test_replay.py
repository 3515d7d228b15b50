"""A replay is the localizer itself."""

from tmapr.running.progressive import localize
from tmapr.system import build


def test_a_replay_is_what_the_localizer_says_bit_for_bit(noon_detour):
    system, recording = noon_detour.system, noon_detour.recording
    streamed = localize(build(system, noon_detour.environment), recording, range(len(recording))).estimates
    replayed = noon_detour.recognised.replay(system.tracking, system.fusion)
    assert [each.position.tobytes() for each in replayed] == [each.position.tobytes() for each in streamed]
    assert [each.covariance.tobytes() for each in replayed] == [each.covariance.tobytes() for each in streamed]
    assert [each.verdict for each in replayed] == [each.verdict for each in streamed]
    assert {each.verdict.accepted for each in streamed} == {True, False}
