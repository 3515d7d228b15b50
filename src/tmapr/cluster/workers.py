"""Who carries out orders: this process, others on this machine, or a Dask cluster (network.py)."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tmapr.cluster.orders import Order
from tmapr.cluster.work import perform
from tmapr.types import Watch


@runtime_checkable
class Workers(Protocol):
    """Carries out orders in any sequence; when it returns, what each of them asks for is there."""

    def carry_out(self, orders: Sequence[Order], watch: Watch) -> None:
        """Do all of it; the first failure ends the work, and what is done by then is kept."""

    def close(self) -> None:
        """Let go of whoever worked."""


class Alone:
    """Nobody but this process."""

    def carry_out(self, orders: Sequence[Order], watch: Watch) -> None:
        """One after another."""
        for place in watch(range(len(orders))):
            perform(orders[place].as_json())

    def close(self) -> None:
        """Nothing was opened."""
