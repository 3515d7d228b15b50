"""Orders: one line of JSON each, so that pipes, Dask and a batch system pass on the same, and no code with it."""

import socket
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from tmapr.artifacts.documents import Document
from tmapr.cluster.workshop import Workshop
from tmapr.exceptions import InputError


class EncodeOrder(Document):
    """Encode the frames of a traverse from `begin` to `end`."""

    stage: Literal["encode"] = "encode"
    tmapr: str
    workshop: str
    key: str
    experiment: str
    """The name of the settings in the workshop."""
    device: str
    sequence: str
    begin: int
    end: int

    @property
    def what(self) -> str:
        """In words."""
        return f"frames {self.begin} to {self.end - 1} of {self.sequence}"


class SumOrder(Document):
    """Sum what A₀ learns of some frames."""

    stage: Literal["sum"] = "sum"
    tmapr: str
    workshop: str
    key: str

    @property
    def what(self) -> str:
        """In words."""
        return f"the sums {self.key[:12]}"


Order = EncodeOrder | SumOrder
_ANY: TypeAdapter[Order] = TypeAdapter(Annotated[Order, Field(discriminator="stage")])


def read_order(line: str) -> Order:
    """The order of a line, for this version and in a folder that is seen from here."""
    order = _ANY.validate_json(line)
    if order.tmapr != version("tmapr"):
        raise InputError(
            f"{socket.gethostname()}: has tmapr {version('tmapr')}, the order is of {order.tmapr};"
            " install one version everywhere"
        )
    if not Path(order.workshop).is_dir():
        raise InputError(
            f"{socket.gethostname()}: does not see {order.workshop}; the run folder must lie on a file system that all"
            " workers share, under the same path"
        )
    return order


def is_done(order: Order) -> bool:
    """Whether what it asks for is there."""
    shop = Workshop(Path(order.workshop))
    made = {"encode": shop.part, "sum": shop.sums}[order.stage]
    return made(order.key).exists()
