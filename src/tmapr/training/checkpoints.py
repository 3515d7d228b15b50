"""What training leaves in the run folder: apr/000012 for a whole epoch, and `last` and `best`, which name two of them.

An epoch's folder holds the network (a pose head as head.safetensors with its card, another as model.safetensors), the
optimizer's moments and training.json: all the settings that matter and what every epoch so far came to. Order and
dropout of an epoch follow from seed and number, so no generator's state is kept. `last` is written when the folder is
whole: a kill loses the epoch it falls into, no more.
"""

import re
import shutil
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field, JsonValue, ValidationError
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
from tmapr.files import DOCUMENT_BYTES, SETTINGS_BYTES, read_bytes
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.recipes import Training
from tmapr.training.models import PoseModel

_OPTIMIZER, _RECORD = "optimizer.safetensors", "training.json"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Epoch(Settings):
    """What an epoch came to."""

    number: int = Field(gt=0, description="from 1")
    loss: float = Field(description="mean over the training frames, while learning")
    median: float = Field(description="validation error, metres")
    mean: float = Field(description="validation error, metres")


Epochs = tuple[Epoch, ...]
SettingsJson = dict[str, JsonValue]
"""Settings as they were, as plain JSON: a later version may know more of them."""


def find_best(history: Epochs) -> Epoch:
    """The epoch with the smallest median validation error; of equals the first."""
    return min(history, key=lambda epoch: epoch.median)


def finished(history: Epochs, settings: Training) -> bool:
    """Whether there is nothing left to do."""
    if len(history) >= settings.epochs:
        return True
    return bool(history and settings.patience and len(history) - find_best(history).number >= settings.patience)


class SequenceNames(Settings):
    """The sequences that a network was trained and validated on."""

    train: tuple[str, ...]
    validation: tuple[str, ...]


class TrainingRecord(Settings):
    """The content of training.json."""

    version: Literal[1] = 1
    model: str
    recipe: SettingsJson
    coordinates: Normaliser
    training: SettingsJson
    perception: Origin
    data: SequenceNames
    history: Epochs


class Checkpoints:
    """The epochs of a model in an experiment's run folder."""

    def __init__(self, experiment: Experiment, folder: RunFolder, model: str = "apr") -> None:
        self._experiment = experiment
        self._model = model
        self.folder = folder.model(model)

    def history(self) -> Epochs:
        """All complete epochs; what other settings trained is refused with what differs."""
        folder = self._find_folder("last")
        if folder is None:
            return ()
        record = self._read(folder)
        changed = self._list_changes(record)
        if changed:
            raise self._refusal(f"was trained with {'; '.join(changed)}")
        return record.history

    def restore(self, network: nn.Module, optimizer: torch.optim.Optimizer, model: PoseModel) -> None:
        """Put network and optimizer back to where the last complete epoch left them, if there is one."""
        folder = self._find_folder("last")
        if folder is None:
            return
        self._load(folder, network, model)
        try:
            kept = load_file(folder / _OPTIMIZER)
        except (OSError, SafetensorError):
            kept = {}
        if {name: value.shape for name, value in kept.items()} != _moment_shapes(network):
            raise self._refusal(f"{folder / _OPTIMIZER} is damaged or missing")
        names = [name for name, _ in network.named_parameters()]
        moments = {row: {key: kept[f"{name}.{key}"] for key in _MOMENTS} for row, name in enumerate(names)}
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})

    def load_best(self, network: nn.Module, model: PoseModel) -> None:
        """Give a network the weights of the best epoch."""
        folder = self._find_folder("best")
        if folder is None:
            raise self._refusal("holds no epoch")
        self._load(folder, network, model)

    def save(self, network: nn.Module, optimizer: torch.optim.Optimizer, model: PoseModel, history: Epochs) -> None:
        """Keep the epoch that just ended, then forget all but the best and this one."""
        names = {"best": f"{find_best(history).number:06d}", "last": f"{history[-1].number:06d}"}
        folder = self.folder / names["last"]
        model.save(folder, network)
        with replacing(folder / _OPTIMIZER) as stream:
            stream.write(as_bytes(_collect_moments(network, optimizer)))
        record = self._make_record(history, model.normaliser)
        write_text(folder / _RECORD, record.model_dump_json(indent=2) + "\n")
        for name, number in names.items():
            write_text(self.folder / name, f"{number}\n")
        for epoch in self.folder.iterdir():
            if re.fullmatch(r"\d{6,}", epoch.name) and epoch.name not in names.values() and not epoch.is_symlink():
                shutil.rmtree(epoch)

    def _find_folder(self, which: Literal["best", "last"]) -> Path | None:
        named = self.folder / which
        if not named.exists():
            return None
        number = read_bytes(named, SETTINGS_BYTES).decode(errors="replace").strip()
        if not re.fullmatch(r"\d{6,18}", number):
            raise self._refusal(f"{named} names no epoch")
        return self.folder / number

    def _read(self, folder: Path) -> TrainingRecord:
        try:
            return TrainingRecord.model_validate_json(read_bytes(folder / _RECORD, DOCUMENT_BYTES))
        except (OSError, InputError, ValidationError):
            raise self._refusal(f"{folder / _RECORD} is damaged or missing") from None

    def _load(self, folder: Path, network: nn.Module, model: PoseModel) -> None:
        if self._read(folder).coordinates != model.normaliser:
            raise self._refusal("the positions have changed since the training began")
        try:
            model.load(folder, network)
        except InputError as error:
            raise self._refusal(str(error)) from None

    def _make_record(self, history: Epochs, normaliser: Normaliser) -> TrainingRecord:
        experiment = self._experiment
        return TrainingRecord(
            model=self._model,
            recipe=self._recipe,
            coordinates=normaliser,
            training=experiment.training.model_dump(mode="json"),
            perception=experiment.perception.origin,
            data=self._sequences,
            history=history,
        )

    def _list_changes(self, record: TrainingRecord) -> list[str]:
        experiment, where = self._experiment, str(self.folder)
        # How long to train is no part of what was trained: longer continues, and is the same as longer at once.
        length = experiment.training.model_dump(include={"epochs", "patience"})
        return [
            *changed_since(record.training | length, experiment.training, "training", where, self._way_out),
            *experiment.perception.changes_since(record.perception, where),
            *differences(record.recipe, self._recipe, f"baselines.{self._model}"),
            *differences(record.data.model_dump(mode="json"), self._sequences.model_dump(mode="json"), "data"),
        ]

    @property
    def _recipe(self) -> SettingsJson:
        """What a baseline's own settings say; the pose head's are those of the training."""
        return self._experiment.baselines.model_dump(mode="json").get(self._model, {})

    @property
    def _sequences(self) -> SequenceNames:
        return SequenceNames(train=self._experiment.data.train, validation=self._experiment.data.validation)

    @property
    def _way_out(self) -> str:
        return f"remove {self.folder} to train again"

    def _refusal(self, what: str) -> InputError:
        return InputError(f"{self.folder}: {what}; {self._way_out}")


def _collect_moments(network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
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
