"""The base of every setting of the product."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Immutable, and a misspelt key is an error at every level.

    Infinities and NaN are refused: no setting of the method means anything there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)
