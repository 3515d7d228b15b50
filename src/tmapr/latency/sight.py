"""The perceiver of a device as it is timed: its eye, the network it was made from, and what made-up images show."""

from dataclasses import dataclass

import torch

from tmapr.artifacts.documents.latency import Precision
from tmapr.device.perceiving import DeviceEye
from tmapr.latency.answering import Answers
from tmapr.perception.card import Card
from tmapr.perception.network import Network
from tmapr.perception.perceiver import FindKeypoints, Perceiver
from tmapr.perception.settings import Perception

_KINDS = {"float32": torch.float32, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class DeviceSight:
    """`network` is in float32 and on the host; the eye has a copy, in its own precision, on the device."""

    network: Network
    eye: DeviceEye
    answers: Answers
    device: torch.device


def open_sight(
    network: Network, card: Card, settings: Perception, device: str, precision: Precision, find: FindKeypoints | None
) -> tuple[Perceiver, DeviceSight]:
    """A perceiver that sees there, as `device.opening` opens it."""
    there = torch.device(device)
    answers = Answers(there)
    plain = network.eval().requires_grad_(False)
    eye = DeviceEye(plain, settings.image, settings.size, device, _KINDS[precision], assemble=answers.assemble)
    perceiver = Perceiver(card, settings.image, eye, find_keypoints=find)
    return perceiver, DeviceSight(plain, eye, answers, there)
