"""The numbers that the paper printed in its Tables II to V, as rows beneath ours.

They are on its own recordings, so they say what to expect of the method and not which system is better. The notes say
what else differs, and what in the printed numbers cannot be.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from tmapr.reports.tables.table import Table, TableCell

TableName = Literal["localization", "fusion", "loops", "system"]
"""The paper's Tables II, III, IV and V, in this order."""

PublishedRow = dict[str, TableCell]
"""Printed values by the keys of the table's columns."""

_PAPER, _METHOD, _ORACLE = "paper", "TM-APR", "to test truth (ORACLE)"
_SEQUENTIAL = "stream, labels not stated"
"""It processes sequences 2 and 3 one after the other, and does not say where their labels come from."""
_CAMPUS, _MS2, _VALLEY = "Real-UGV-Campus", "MS2", "STherO Valley"

_LOCALIZATION = {
    _CAMPUS: {
        "AtLoc": (1.51, 1.34, 0.68),
        "RobustLoc": (1.11, 0.98, 0.40),
        "ThermalLoc": (1.07, 0.76, 0.64),
        _METHOD: (0.96, 0.76, 0.63),
    },
    _MS2: {
        "AtLoc": (61.51, 54.50, 37.81),
        "RobustLoc": (32.11, 28.44, 10.99),
        "ThermalLoc": (28.45, 24.91, 23.85),
        _METHOD: (13.53, 8.34, 5.00),
    },
    _VALLEY: {
        "AtLoc": (54.85, 48.60, 30.98),
        "RobustLoc": (48.79, 43.24, 28.32),
        "ThermalLoc": (39.47, 31.51, 27.18),
        _METHOD: (28.56, 21.69, 16.31),
    },
}
"""RMSE, mean and median, metres."""

_FUSION = {_CAMPUS: (1.64, 0.96, 41.6), _MS2: (19.07, 13.53, 29.1), _VALLEY: (31.62, 28.56, 9.7)}
"""RMSE of the pose head and fused, metres, and the reduction in percent."""

_LOOPS = {
    "Global AnyThermal-VPR": (0.3519, 0.7976, 0.4883),
    "ACIL": (0.5171, 0.8655, 0.6474),
    "ACIL+U": (0.5269, 0.8568, 0.6525),
    "ACIL+G": (0.5295, 0.9198, 0.6721),
    "ACIL+H": (0.5236, 0.8990, 0.6617),
    "ACIL+U+G": (0.5406, 0.9147, 0.6796),
    "ACIL+U+H": (0.5340, 0.8926, 0.6682),
    "ACIL+G+H": (0.5315, 0.9341, 0.6775),
    "ACIL+U+G+H": (0.5419, 0.9291, 0.6845),
}
"""Precision, recall and F1, on STherO Valley."""

_SYSTEM = {"APR": 19.07, "APR + CAPF": 19.88, "APR + global + CAPF": 15.23, "full": 13.53}
"""RMSE on MS2, metres."""

_OTHER_DATA = (
    "paper: as printed, on its own recordings (named under sequence); its trajectories were fitted to the test truth"
    " before fusion, and it gives no intervals: compare within a source, not across"
)
_NOTES = {
    "localization": (
        "paper: RMSE over mean of AtLoc and RobustLoc is 1.13 on all three data sets, the ratio of a Rayleigh"
        " distribution, as if it had been made from the mean",
        "paper: RobustLoc's mean exceeds its median by more than the standard deviation on Real-UGV-Campus and MS2; no"
        " set of errors does that",
    ),
    "fusion": (
        "paper: it prints 41.6 % where its rounded RMSEs give 41.5 %; it prints no jumps and no retrieval alone",
    ),
    "loops": (
        "paper: its recall stands under d-recall, the likely meaning: it exceeds precision in every row, which the"
        " recall of this table cannot where every query has a reference within 10 m; its F1 is made from it, so neither"
        " compares with ours under recall and F1",
    ),
    "system": (
        "paper: it has no row of retrieval alone and none of retrieval + CAPF without APR, so it does not tell whether"
        " the pose head helps; its filter without loops is worse than its input",
    ),
}


def append_paper_rows(table: Table, name: TableName) -> Table:
    """The table with the printed rows at its end and what a reader must know of them."""
    keys = [column.key for column in table.columns]
    rows = []
    for published in list_paper_rows(name):
        if not published.keys() <= set(keys):
            raise ValueError(f"a published row has {sorted(published)}, the table has only {keys}")
        rows.append(tuple(published.get(key) for key in keys))
    return replace(table, rows=(*table.rows, *rows), notes=(*table.notes, _OTHER_DATA, *_NOTES[name]))


def list_paper_rows(name: TableName) -> Iterator[PublishedRow]:
    """The printed rows of a table."""
    rows = {"localization": _list_localization, "fusion": _list_fusion, "loops": _list_loops, "system": _list_system}[
        name
    ]
    return ({"run": _PAPER, "protocol": "not stated", **row} for row in rows())


def _list_localization() -> Iterator[PublishedRow]:
    for sequence, methods in _LOCALIZATION.items():
        for method, (rmse, mean, median) in methods.items():
            aligned = _ORACLE if method == _METHOD else "not stated"
            said: PublishedRow = {"sequence": sequence, "method": method, "source": _PAPER, "alignment": aligned}
            yield said | {"rmse": rmse, "mean": mean, "median": median}


def _list_fusion() -> Iterator[PublishedRow]:
    for sequence, (apr, fused, gain) in _FUSION.items():
        said: PublishedRow = {"sequence": sequence, "alignment": _ORACLE}
        yield said | {"apr_rmse": apr, "fused_rmse": fused, "gain_over_apr": gain}


def _list_loops() -> Iterator[PublishedRow]:
    for method, (precision, recall, f1) in _LOOPS.items():
        said: PublishedRow = {"sequence": _VALLEY, "protocol": _SEQUENTIAL, "method": method}
        yield said | {"precision": precision, "decision_recall": recall, "f1": f1}


def _list_system() -> Iterator[PublishedRow]:
    for method, rmse in _SYSTEM.items():
        yield {"sequence": _MS2, "method": method, "rmse": rmse}
