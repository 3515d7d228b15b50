"""What is found out about runs, as JSON: each file is one model, written and read here and nowhere else."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tmapr.artifacts.atomic import write_text
from tmapr.exceptions import InputError
from tmapr.files import DOCUMENT_BYTES, read_bytes

_LONG_NUMBER = re.compile(rb"\d{301}")
"""An integer of JSON may have any number of digits, one that becomes a float may not."""

AnyDocument = TypeVar("AnyDocument", bound="Document")


class Document(BaseModel):
    """A JSON object or a part of one.

    What its reader does not know is passed over. A value of another kind than promised, NaN and infinity among them, is
    refused.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)

    def as_json(self, indent: int | None = None) -> str:
        """The text of the file."""
        return json.dumps(self.model_dump(mode="json"), indent=indent, allow_nan=False)

    def save(self, path: Path) -> None:
        """Replace the file."""
        write_text(path, self.as_json(indent=2) + "\n")

    @classmethod
    def load(cls: type[AnyDocument], path: Path, again: str) -> AnyDocument:
        """Read the file; `again` is the command that makes it anew."""
        try:
            content = read_bytes(path, DOCUMENT_BYTES)
            if _LONG_NUMBER.search(content):
                raise InputError(f"{path}: holds a number of more than 300 digits; make it anew with `{again}`")
            return cls.model_validate_json(content)
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; make it with `{again}`") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); make it anew with `{again}`") from None
        except ValidationError as error:
            raise InputError(f"{path}: {_explain(error, 'content')}; make it anew with `{again}`") from None

    @classmethod
    def from_notes(cls: type[AnyDocument], path: Path, notes: Mapping[str, Any]) -> AnyDocument:
        """What the notes of an array file say."""
        try:
            return cls.model_validate_json(json.dumps(notes))
        except ValidationError as error:
            raise InputError(f"{path}: {_explain(error, 'its notes')}; make it again") from None


def _explain(error: ValidationError, whole: str) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))[:80] or whole}: {first['msg']}"
