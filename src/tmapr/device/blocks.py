"""How a descriptor is dealt to the programs of Triton's kernels, see `block_sums`."""

from typing import NamedTuple

from tmapr.device.triangle import power_of_two

BLOCK = 128
"""Numbers that one program sees to."""


class Blocks(NamedTuple):
    """The blocks of a descriptor: the length of it, how many they are, and the next power of two."""

    width: int
    number: int
    number_up: int

    @classmethod
    def of(cls, width: int) -> "Blocks":
        """Those of a descriptor of some length."""
        number = -(-width // BLOCK)
        return cls(width, number, power_of_two(number))
