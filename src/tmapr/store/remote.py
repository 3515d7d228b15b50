"""Any object store that obstore reads: S3 and what speaks its protocol, Google's, Azure's, memory for tests."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from tmapr.exceptions import InputError
from tmapr.store.names import check_name
from tmapr.store.protocol import OBJECT_BYTES

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

Found = TypeVar("Found")

_LONGEST_SILENCE = timedelta(seconds=20)
"""A robot without a network is to be told so, not to wait for minutes."""


class RemoteStore:
    """Objects of a bucket. Addresses hold no passwords: those come from the environment, as obstore documents it."""

    def __init__(self, store: "ObjectStore", address: str) -> None:
        self._store = store
        self._address = address

    def __str__(self) -> str:
        return self._address

    def read(self, name: str) -> bytes:
        """All of an object; how long it is, is asked before memory is taken."""
        import obstore

        length = self._ask(name, lambda: obstore.head(self._store, check_name(name))["size"])
        if length > OBJECT_BYTES:
            raise InputError(f"{self}: {name} has {length} bytes, an object at most {OBJECT_BYTES}")
        return self.read_range(name, 0, length) if length else b""

    def read_range(self, name: str, begin: int, end: int) -> bytes:
        """Its bytes from `begin` to before `end`, or to where it ends."""
        import obstore

        if end <= begin:
            return b""
        return self._ask(name, lambda: bytes(obstore.get_range(self._store, check_name(name), start=begin, end=end)))

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all; an object that is there already stays as it is."""
        import obstore

        # Asked first, not by a condition of the store's: not all of them have one, and two who write one name write
        # the same content.
        if not self.exists(name):
            self._ask(name, lambda: obstore.put(self._store, check_name(name), content))

    def exists(self, name: str) -> bool:
        """Whether there is one."""
        import obstore

        try:
            obstore.head(self._store, check_name(name))
        except FileNotFoundError:
            return False
        except (obstore.exceptions.BaseError, OSError) as error:
            raise self._explain(name, error) from None
        return True

    def list(self, prefix: str) -> Iterator[str]:
        """The names below a folder, sorted."""
        import obstore

        def gather() -> list[str]:
            return [each["path"] for part in obstore.list(self._store, check_name(prefix)) for each in part]

        yield from sorted(self._ask(prefix, gather))

    def _ask(self, name: str, question: Callable[[], Found]) -> Found:
        import obstore

        try:
            return question()
        except FileNotFoundError:
            raise InputError(
                f"{self}: has no object {name}; is it the right store, and was the map written whole?"
            ) from None
        except (obstore.exceptions.BaseError, OSError, ValueError) as error:
            raise self._explain(name, error) from None

    def _explain(self, name: str, error: Exception) -> InputError:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return InputError(f"{self}: {name} cannot be read or written now ({reason[:200]})")


def connect(address: str) -> RemoteStore:
    """The store at an URL."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise InputError(f"{address}: to reach object stores, install tmapr with its extra `store`") from None
    patience: ClientConfig = {"connect_timeout": timedelta(seconds=5), "allow_http": True}
    retries: RetryConfig = {"max_retries": 3, "retry_timeout": _LONGEST_SILENCE}
    try:
        store = from_url(address, client_options=patience, retry_config=retries)
    except (BaseError, ValueError, TypeError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(f"{address}: is no store ({reason[:200]}); name a folder, or an URL such as s3://…") from None
    return RemoteStore(store, address)
