"""Settings that earlier versions had: where each of them is now, or what does its work."""

from collections.abc import Mapping, Sequence
from typing import Any

_MOVED = (
    "min_similarity",
    "bounds",
    "min_margin",
    "max_innovation",
    "confidence_floor",
    "max_jump",
    "max_speed",
    "expiry",
    "recovery",
)
_EVIDENCE = 'was removed; the route filter (tracking.method = "route") weighs evidence itself'
_SUPPORT = "was removed; a match is judged by its margin, and learned from by labels.min_support"
_POSES = 'was removed; the route filter (tracking.method = "route") weighs the pose head itself'

REMOVED: Mapping[str, str] = {
    **{f"gating.{key}": f"is now tracking.gates.{key}" for key in _MOVED},
    "gating.min_support": _SUPPORT,
    "tracking.gates.min_support": _SUPPORT,
    "fusion.min_confidence": "was removed; eq. (9) divides by at least 10⁻⁴, as the paper has it",
    "gating.odds": _EVIDENCE,
    "gating.min_odds": _EVIDENCE,
    "gating.return_odds": _EVIDENCE,
    "gating.expected_odds": _EVIDENCE,
    "gating.expected_radius": _EVIDENCE,
    "gating.carried_odds": _EVIDENCE,
    "gating.max_leverage": _EVIDENCE,
    "gating.max_apr_error": _POSES,
    "gating.apr": _POSES,
    "gating": "is now tracking.gates",
}
"""By the path that files wrote; a section after its keys, which say more."""


def find_removed(tree: Mapping[str, Any]) -> str | None:
    """What became of the first setting in the tree that is in the table; None if there is none."""
    return next((f"{path}: {fate}" for path, fate in REMOVED.items() if _holds(tree, path.split("."))), None)


def _holds(tree: object, keys: Sequence[str]) -> bool:
    if not keys:
        return True
    return isinstance(tree, Mapping) and keys[0] in tree and _holds(tree[keys[0]], keys[1:])
