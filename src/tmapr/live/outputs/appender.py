"""A file that only grows, by whole pieces: a kill, or a disk that is full, leaves what was flushed before."""

import os
from pathlib import Path


class Appender:
    """Keeps what is written until `flush`, which adds all of it to the file or nothing."""

    def __init__(self, path: Path, mode: str = "ab") -> None:
        self.path = path
        self._file = path.open(mode, buffering=0)
        self._flushed = os.fstat(self._file.fileno()).st_size
        self._pending: list[bytes] = []
        self._waiting = 0

    @property
    def flushed(self) -> int:
        """Bytes that the file has."""
        return self._flushed

    @property
    def waiting(self) -> int:
        """Bytes that it has not."""
        return self._waiting

    def write(self, data: bytes) -> int:
        """Bytes for the next flush."""
        self._pending.append(bytes(data))
        self._waiting += len(data)
        return len(data)

    def tell(self) -> int:
        """Where the next byte goes."""
        return self._flushed + self._waiting

    def flush(self) -> None:
        """Add what was written. If that fails it is gone, and the file as it was."""
        left = memoryview(b"".join(self._pending))
        whole = self.tell()
        self._pending, self._waiting = [], 0
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._file.truncate(self._flushed)
            raise
        self._flushed = whole

    def close(self) -> None:
        """Flush, and wait until the disk has it."""
        try:
            self.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close without what was not flushed."""
        self._file.close()
