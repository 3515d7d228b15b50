"""The base of every setting of the product."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Immutable, and a misspelt key is an error at every level.

    Types are strict: "15" is not a number and true is not 1. Infinities and NaN are refused: no setting of the method
    means anything there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    unnamed: ClassVar[str | None] = None
    """A section that files do not name: its keys stand beside this one's own."""
