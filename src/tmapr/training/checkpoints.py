"""What training leaves in the run folder: apr/000012 for a whole epoch, and `last` and `best`, which name two of them.

An epoch's folder holds the network (a pose head as head.safetensors with its card, another as model.safetensors), the
optimizer's moments and training.json: all the settings that matter and what every epoch so far came to. Order and
dropout of an epoch follow from seed and number, so no generator's state is kept. `last` is written when the folder is
whole: a kill loses the epoch it falls into, no more.
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
from torch import Tensor, nn

from tmapr.artifacts.atomic import replacing, write_text
from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import RunFolder
from tmapr.config import Settings, changed_since, differences
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.normaliser import Normaliser
from tmapr.recipes import Training
from tmapr.training.subjects import Subject

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
    model: str
    recipe: dict[str, Any]
    coordinates: dict[str, Any]
    training: dict[str, Any]
    perception: dict[str, Any]
    data: dict[str, Any]
    history: History


class Checkpoints:
    """The epochs of a model in an experiment's run folder."""

    def __init__(self, experiment: Experiment, folder: RunFolder, model: str = "apr") -> None:
        self._experiment = experiment
        self._model = model
        self.folder = folder.model(model)

    def history(self) -> History:
        """All complete epochs; what other settings trained is refused with what differs."""
        folder = self._named("last")
        if folder is None:
            return ()
        record = self._read(folder)
        changed = self._changes(record)
        if changed:
            raise self._refusal(f"was trained with {'; '.join(changed)}")
        return record.history

    def restore(self, network: nn.Module, optimizer: torch.optim.Optimizer, subject: Subject) -> None:
        """Put network and optimizer back to where the last complete epoch left them, if there is one."""
        folder = self._named("last")
        if folder is None:
            return
        self._load(folder, network, subject)
        try:
            kept = load_file(folder / _OPTIMIZER)
        except (OSError, SafetensorError):
            kept = {}
        if {name: value.shape for name, value in kept.items()} != _moment_shapes(network):
            raise self._refusal(f"{folder / _OPTIMIZER} is damaged or missing")
        names = [name for name, _ in network.named_parameters()]
        moments = {row: {key: kept[f"{name}.{key}"] for key in _MOMENTS} for row, name in enumerate(names)}
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})

    def recall(self, network: nn.Module, subject: Subject) -> None:
        """Give a network the weights of the best epoch."""
        folder = self._named("best")
        if folder is None:
            raise self._refusal("holds no epoch")
        self._load(folder, network, subject)

    def save(self, network: nn.Module, optimizer: torch.optim.Optimizer, subject: Subject, history: History) -> None:
        """Keep the epoch that just ended, then forget all but the best and this one."""
        names = {"best": f"{best(history).number:06d}", "last": f"{history[-1].number:06d}"}
        folder = self.folder / names["last"]
        subject.save(folder, network)
        with replacing(folder / _OPTIMIZER) as stream:
            stream.write(as_bytes(_moments(network, optimizer)))
        record = self._record(history, subject.normaliser)
        write_text(folder / _RECORD, record.model_dump_json(indent=2) + "\n")
        for name, number in names.items():
            write_text(self.folder / name, f"{number}\n")
        for epoch in self.folder.iterdir():
            if re.fullmatch(r"\d{6,}", epoch.name) and epoch.name not in names.values():
                shutil.rmtree(epoch)

    def _named(self, which: Literal["best", "last"]) -> Path | None:
        named = self.folder / which
        if not named.exists():
            return None
        number = named.read_text(encoding="utf-8", errors="replace").strip()
        if not re.fullmatch(r"\d{6,}", number):
            raise self._refusal(f"{named} names no epoch")
        return self.folder / number

    def _read(self, folder: Path) -> Record:
        try:
            return Record.model_validate_json((folder / _RECORD).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValidationError):
            raise self._refusal(f"{folder / _RECORD} is damaged or missing") from None

    def _load(self, folder: Path, network: nn.Module, subject: Subject) -> None:
        if self._read(folder).coordinates != _plain(subject.normaliser):
            raise self._refusal("the positions have changed since the training began")
        try:
            subject.load(folder, network)
        except InputError as error:
            raise self._refusal(str(error)) from None

    def _record(self, history: History, normaliser: Normaliser) -> Record:
        experiment = self._experiment
        return Record(
            model=self._model,
            recipe=self._recipe,
            coordinates=_plain(normaliser),
            training=experiment.training.model_dump(mode="json"),
            perception=asdict(experiment.perception.origin),
            data=self._sequences,
            history=history,
        )

    def _changes(self, record: Record) -> list[str]:
        experiment, where = self._experiment, str(self.folder)
        # How long to train is no part of what was trained: longer continues, and is the same as longer at once.
        length = experiment.training.model_dump(include={"epochs", "patience"})
        return [
            *changed_since(record.training | length, experiment.training, "training", where, self._way_out),
            *experiment.perception.changes_since(Origin.from_notes(record.perception), where),
            *differences(record.recipe, self._recipe, f"baselines.{self._model}"),
            *differences(record.data, self._sequences, "data"),
        ]

    @property
    def _recipe(self) -> dict[str, Any]:
        """What a baseline's own settings say; the pose head's are those of the training."""
        return self._experiment.baselines.model_dump(mode="json").get(self._model, {})

    @property
    def _sequences(self) -> dict[str, Any]:
        return self._experiment.data.model_dump(mode="json", include={"train", "validation"})

    @property
    def _way_out(self) -> str:
        return f"remove {self.folder} to train again"

    def _refusal(self, what: str) -> InputError:
        return InputError(f"{self.folder}: {what}; {self._way_out}")


def _plain(normaliser: Normaliser) -> dict[str, Any]:
    return {"center": list(normaliser.center), "scale": normaliser.scale}


def _moments(network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Adam's state under the names of the weights, which its own has not."""
    states = optimizer.state_dict()["state"]
    names = [name for name, _ in network.named_parameters()]
    return {f"{name}.{key}": states[row][key].cpu() for row, name in enumerate(names) for key in _MOMENTS}


def _moment_shapes(network: nn.Module) -> dict[str, torch.Size]:
    return {
        f"{name}.{key}": torch.Size() if key == "step" else weights.shape
        for name, weights in network.named_parameters()
        for key in _MOMENTS
    }
