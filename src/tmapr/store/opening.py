"""Which store a name on the command line means."""

import re
from pathlib import Path

from tmapr.exceptions import InputError
from tmapr.store.folder import FolderStore
from tmapr.store.protocol import Store

_SCHEMES = ("s3", "gs", "az", "memory")
_URL = re.compile(r"(\w[\w+.-]*)://(.*)", re.DOTALL)


def open_store(where: str | Path) -> Store:
    """A folder, or an URL of an object store; nothing is read or made yet."""
    address = _URL.match(str(where))
    if isinstance(where, Path) or not address:
        return FolderStore(Path(where))
    scheme, rest = address.groups()
    if scheme == "file":
        return FolderStore(Path("/") / rest.lstrip("/"))
    if scheme not in _SCHEMES:
        raise InputError(f"{scheme}://…: is no store; name a folder, or an URL with {', '.join(_SCHEMES)}")
    if "@" in rest or "?" in rest:
        raise InputError(f"{scheme}://…: an address of a store holds no password and no query; set the environment")
    from tmapr.store.remote import connect

    return connect(str(where))
