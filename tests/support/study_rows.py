"""Rows of a study with made-up figures."""

from tmapr.artifacts.documents.decisions import AskedDrive, Machine, MadeBy, StudyRow


def make_drive(drive="night", every=1, **figures):
    """A hundred frames, all of them on the map and localized."""
    plain = {
        "frames": 100,
        "on_map": 100,
        "localized": 1.0,
        "wrong": 0,
        "wrong_metres": 0.0,
        "recovered_after": 0.0,
        "coverage95": 0.95,
        "rmse": 1.0,
        "first_right": 0.9,
        "global_right": 0.8,
        "off_map": 0,
        "off_localized": 0,
        "localized_on_map": 100,
        "wrong_on_map": 0,
        "median_m": 1.0,
        "first_median_m": 1.2,
        "localized_rmse": 1.0,
        "localized_coverage95": 0.95,
    }
    return AskedDrive(drive=drive, every=every, **(plain | figures))


def make_row(name, drives=None, *, kind="city", source="s", settings="t", data="d"):
    """A row, made by somebody."""
    machine = Machine(processor="x", cores=2, python="3.11", numpy="2", numba="1")
    made_by = MadeBy(commit="abc", dirty=False, source=source, settings=settings, data=data, machine=machine)
    given = {"night": make_drive()} if drives is None else drives
    return StudyRow(name=name, kind=kind, style=2, seed=1, spacing=1.0, drives=given, made_by=made_by)
