"""What was found on a sequence, in a sentence or two: the first thing that a reader of the page reads."""

import numpy as np
from jaxtyping import Bool

from tmapr.artifacts.documents.runs import SequenceErrors
from tmapr.evaluation.off_map import list_stretches
from tmapr.reports.reported import ReportedSequence
from tmapr.types import Reason, Status


def describe_findings(sequence: ReportedSequence) -> str:
    """With true positions the error, the share localized and the wrong ones; without, what the filter says itself."""
    where = sequence.name if sequence.protocol == "test" else f"{sequence.name} ({sequence.protocol})"
    if sequence.figures is None:
        return f"On {where}, {_describe_claims(sequence)}"
    return f"On {where}, {_describe_errors(sequence, sequence.figures)}"


def _describe_errors(sequence: ReportedSequence, found: SequenceErrors) -> str:
    known, total = int(sequence.truth.known.sum()), len(sequence.table.stamps)
    over = f"{total} frames" if known == total else f"the {known} of {total} frames with a known position"
    told = (
        f"the position is off by {found.fused.median:.2f} m in the median ({found.fused.rmse:.2f} m root mean square)"
        f" over {over}. It is localized, so says that it knows the place, on {_format_share(sequence)} of the frames"
    )
    made = found.decisions
    if made is None or made.wrong is None or made.tolerance is None:
        return f"{told}."
    if not made.wrong:
        return f"{told}; never more than {made.tolerance:.0f} m off."
    return f"{told}; {made.wrong} of these are more than {made.tolerance:.0f} m off."


def _describe_claims(sequence: ReportedSequence) -> str:
    lost = np.array([status is Status.LOST for status in sequence.table.statuses])
    away = np.array([reason is Reason.OFF_MAP for reason in sequence.table.reasons])
    total = len(sequence.table.stamps)
    return (
        f"it is localized, so says that it knows the place, on {_format_share(sequence)} of {total} frames;"
        f" {_describe_stretches('lost', lost)}, and {_describe_stretches('off the map', away)}."
    )


def _describe_stretches(what: str, chosen: Bool[np.ndarray, " n"]) -> str:
    count = len(list_stretches(chosen))
    if not count:
        return f"never {what}"
    return f"{what} in {count} stretch{'' if count == 1 else 'es'} ({int(chosen.sum())} frames)"


def _format_share(sequence: ReportedSequence) -> str:
    return f"{100 * sequence.trial.localized.mean():.1f} %"
