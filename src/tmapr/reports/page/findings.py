"""What was found on a sequence, in a sentence or two: the first thing that a reader of the page reads."""

import numpy as np
from jaxtyping import Bool

from tmapr.artifacts.documents.runs import SequenceErrors
from tmapr.evaluation.off_map import list_stretches
from tmapr.reports.reported import ReportedSequence
from tmapr.types import Reason, Status

_CLAIM = "it is localized, so says that it knows the place,"


def describe_findings(sequence: ReportedSequence) -> str:
    """With true positions the share localized, its errors and the wrong ones; without, what the filter says itself."""
    where = sequence.name if sequence.protocol == "test" else f"{sequence.name} ({sequence.protocol})"
    if sequence.figures is None:
        return f"On {where}, {_describe_claims(sequence)}"
    return f"On {where}, {_describe_errors(sequence, sequence.figures)}"


def _describe_errors(sequence: ReportedSequence, found: SequenceErrors) -> str:
    """Of the frames on which it says that it knows the place: elsewhere nobody should act upon its position."""
    made, total, known = found.decisions, len(sequence.table.stamps), int(sequence.truth.known.sum())
    on_map = f", {100 * made.localized:.1f} % of those on the map" if made and made.localized is not None else ""
    told = f"{_CLAIM} on {_format_share(sequence)} of {total} frames{on_map}"
    told += "" if known == total else f" ({known} of {total} frames have a known position)"
    errors = sequence.errors(sequence.fused)
    claimed = errors.values[sequence.trial.localized & errors.known]
    if not len(claimed):
        return f"{told}."
    usual, most = np.quantile(claimed, (0.5, 0.95))
    told += f". There the position is off by {usual:.2f} m in the median, {most:.2f} m or less on 95 of 100 frames"
    if made is None or made.tolerance is None:
        return f"{told}."
    wrong = "never" if not made.wrong else f"on {made.wrong} frame{'' if made.wrong == 1 else 's'}"
    away = f" It left the map for {found.off_map.metres:.0f} m." if found.off_map else ""
    return f"{told}, and {wrong} by more than {made.tolerance:.0f} m.{away}"


def _describe_claims(sequence: ReportedSequence) -> str:
    lost = np.array([status is Status.LOST for status in sequence.table.statuses])
    away = np.array([reason is Reason.OFF_MAP for reason in sequence.table.reasons])
    total = len(sequence.table.stamps)
    return (
        f"{_CLAIM} on {_format_share(sequence)} of {total} frames;"
        f" {_describe_stretches('lost', lost)}, and {_describe_stretches('off the map', away)}."
    )


def _describe_stretches(what: str, chosen: Bool[np.ndarray, " n"]) -> str:
    count = len(list_stretches(chosen))
    if not count:
        return f"never {what}"
    return f"{what} in {count} stretch{'' if count == 1 else 'es'} ({int(chosen.sum())} frames)"


def _format_share(sequence: ReportedSequence) -> str:
    return f"{100 * sequence.trial.localized.mean():.1f} %"
