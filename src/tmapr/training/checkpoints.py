"""What training leaves in the run folder: apr/000012 for a whole epoch, and `last` and `best`, which name two of them.

An epoch's folder holds the head (head.safetensors and its card), the optimizer's moments and training.json: all the
settings that matter and what every epoch so far came to. Order and dropout of an epoch follow from seed and number, so
no generator's state is kept. `last` is written when the folder is whole: a kill loses the epoch it falls into, no more.
"""

import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as as_bytes
from torch import Tensor

from tmapr.artifacts.atomic import replacing, write_text
from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import HEAD, RunFolder
from tmapr.config import Settings, changed_since, differences
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, Training
from tmapr.perception.apr import AprHead
from tmapr.perception.card import AprShape, Card
from tmapr.perception.weights import read, save

_OPTIMIZER, _RECORD = "optimizer.safetensors", "training.json"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Epoch(Settings):
    """What an epoch came to."""

    number: int = Field(gt=0, description="from 1")
    loss: float = Field(description="mean over the training frames, while learning")
    median: float = Field(description="validation error, metres")
    mean: float = Field(description="validation error, metres")


History = tuple[Epoch, ...]


def best(history: History) -> Epoch:
    """The epoch with the smallest median validation error; of equals the first."""
    return min(history, key=lambda epoch: epoch.median)


def finished(history: History, settings: Training) -> bool:
    """Whether there is nothing left to do."""
    if len(history) >= settings.epochs:
        return True
    return bool(history and settings.patience and len(history) - best(history).number >= settings.patience)


class Record(Settings):
    """training.json: settings as they were, sections as plain JSON, since a later version may know more of them."""

    version: Literal[1] = 1
    training: dict[str, Any]
    perception: dict[str, Any]
    data: dict[str, Any]
    history: History


class Checkpoints:
    """The epochs of an experiment in its run folder."""

    def __init__(self, experiment: Experiment, folder: RunFolder) -> None:
        self._experiment = experiment
        self._apr = folder.apr

    def history(self) -> History:
        """All complete epochs; what other settings trained is refused with what differs."""
        folder = self._last()
        if folder is None:
            return ()
        try:
            record = Record.model_validate_json((folder / _RECORD).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValidationError):
            raise self._refusal(f"{folder / _RECORD} is damaged or missing") from None
        changed = self._changes(record)
        if changed:
            raise self._refusal(f"was trained with {'; '.join(changed)}")
        return record.history

    def restore(self, head: AprHead, optimizer: torch.optim.Optimizer, shape: AprShape) -> None:
        """Put head and optimizer back to where the last complete epoch left them, if there is one."""
        folder = self._last()
        if folder is None:
            return
        try:
            checkpoint = read(folder / HEAD)
        except InputError as error:
            raise self._refusal(str(error)) from None
        if checkpoint.card.apr != shape:
            raise self._refusal("the positions, or the encoder's tokens, have changed since the training began")
        head.load_state_dict(checkpoint.tensors["apr"], strict=True)
        try:
            kept = load_file(folder / _OPTIMIZER)
        except (OSError, SafetensorError):
            kept = {}
        if {name: value.shape for name, value in kept.items()} != _moment_shapes(head):
            raise self._refusal(f"{folder / _OPTIMIZER} is damaged or missing")
        names = [name for name, _ in head.named_parameters()]
        moments = {row: {key: kept[f"{name}.{key}"] for key in _MOMENTS} for row, name in enumerate(names)}
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})

    def save(self, head: AprHead, optimizer: torch.optim.Optimizer, card: Card, history: History) -> None:
        """Keep the epoch that just ended, then forget all but the best and this one."""
        names = {"best": f"{best(history).number:06d}", "last": f"{history[-1].number:06d}"}
        folder = self._apr / names["last"]
        save(folder / HEAD, card, {"apr": head})
        with replacing(folder / _OPTIMIZER) as stream:
            stream.write(as_bytes(_moments(head, optimizer)))
        write_text(folder / _RECORD, self._record(history).model_dump_json(indent=2) + "\n")
        for name, number in names.items():
            write_text(self._apr / name, f"{number}\n")
        for epoch in self._apr.iterdir():
            if re.fullmatch(r"\d{6,}", epoch.name) and epoch.name not in names.values():
                shutil.rmtree(epoch)

    def _last(self) -> Path | None:
        named = self._apr / "last"
        if not named.exists():
            return None
        number = named.read_text(encoding="utf-8", errors="replace").strip()
        if not re.fullmatch(r"\d{6,}", number):
            raise self._refusal(f"{named} names no epoch")
        return self._apr / number

    def _record(self, history: History) -> Record:
        experiment = self._experiment
        return Record(
            training=experiment.training.model_dump(mode="json"),
            perception=asdict(experiment.perception.origin),
            data=experiment.data.model_dump(mode="json", include={"train", "validation"}),
            history=history,
        )

    def _changes(self, record: Record) -> list[str]:
        experiment, where = self._experiment, str(self._apr)
        # How long to train is no part of what was trained: longer continues, and is the same as longer at once.
        length = experiment.training.model_dump(include={"epochs", "patience"})
        return [
            *changed_since(record.training | length, experiment.training, "training", where, self._way_out),
            *experiment.perception.changes_since(Origin.from_notes(record.perception), where),
            *differences(record.data, self._record(record.history).data, "data"),
        ]

    @property
    def _way_out(self) -> str:
        return f"remove {self._apr} to train again"

    def _refusal(self, what: str) -> InputError:
        return InputError(f"{self._apr}: {what}; {self._way_out}")


def _moments(head: AprHead, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """AdamW's state under the names of the weights, which its own has not."""
    states = optimizer.state_dict()["state"]
    names = [name for name, _ in head.named_parameters()]
    return {f"{name}.{key}": states[row][key].cpu() for row, name in enumerate(names) for key in _MOMENTS}


def _moment_shapes(head: AprHead) -> dict[str, torch.Size]:
    return {
        f"{name}.{key}": torch.Size() if key == "step" else weights.shape
        for name, weights in head.named_parameters()
        for key in _MOMENTS
    }
