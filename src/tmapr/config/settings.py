"""The base of every setting of the product."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, field_validator
from pydantic_core import PydanticCustomError

SMALLEST, LARGEST = 1e-12, 1e12
"""The size of a number that is not 0: a product of several such numbers neither overflows nor vanishes."""


class Settings(BaseModel):
    """Immutable, and a misspelt key is an error at every level.

    Types are strict: "15" is not a number and true is not 1. Infinities and NaN are refused: no setting of the method
    means anything there, and no more does it at 1e300. Where arithmetic needs narrower bounds, they are the field's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    unnamed: ClassVar[str | None] = None
    """A section that files do not name: its keys stand beside this one's own."""

    @field_validator("*", mode="after")
    @classmethod
    def _bound_numbers(cls, value: Any) -> Any:
        numbers = [each for each in (value if isinstance(value, tuple) else (value,)) if type(each) in (int, float)]
        if any(each and not SMALLEST <= abs(each) <= LARGEST for each in numbers):
            raise PydanticCustomError("number_size", f"Input should be 0 or {SMALLEST:g} to {LARGEST:g} in size")
        return value
