"""The settings of a run that are not the defaults, with their meaning."""

import json
from collections.abc import Iterator

from tmapr.config import Settings
from tmapr.experiment import Experiment
from tmapr.reports.table import Column, Table


def changed_settings(experiment: Experiment) -> Table:
    """One row for each value that differs."""
    columns = ("setting", "here", "default", "meaning")
    rows = tuple(_changed(experiment, Experiment(), ""))
    return Table(tuple(Column(name, name) for name in columns), rows)


def _changed(settings: Settings, defaults: Settings, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in type(settings).model_fields.items():
        here, default = settings.__dict__[name], defaults.__dict__[name]
        if isinstance(here, Settings) and isinstance(default, type(here)):
            yield from _changed(here, default, f"{prefix}{name}.")
        elif here != default:
            yield f"{prefix}{name}", _written(here), _written(default), field.description or ""


def _written(value: object) -> str:
    if isinstance(value, Settings):
        return value.model_dump_json()
    return "none" if value is None else json.dumps(value, ensure_ascii=False, default=str)
