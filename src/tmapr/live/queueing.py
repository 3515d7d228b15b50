"""Queues between the parts of a live drive: bounded, and the oldest goes where nobody has time for it."""

import threading
import time
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ClosedError(Exception):
    """Nothing comes any more."""


class Line(Generic[Item]):
    """A queue of at most so many items.

    Who puts one in waits for room, or lets the oldest go. Who takes one waits. `close` lets what is in it be taken;
    `abandon` does not.
    """

    def __init__(self, capacity: int) -> None:
        self.dropped = 0
        self._capacity = capacity
        self._items = deque[Item]()
        self._changed = threading.Condition()
        self._closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item, wait: bool = False) -> Item | None:
        """Add an item; the one that had to go for it, if any. With `wait`, there is room before."""
        with self._changed:
            while wait and len(self._items) >= self._capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                raise ClosedError
            gone = self._items.popleft() if len(self._items) >= self._capacity else None
            self.dropped += gone is not None
            self._items.append(item)
            self._changed.notify_all()
            return gone

    def put_within(self, item: Item, seconds: float) -> bool:
        """Add an item, if there is room soon enough."""
        limit = time.monotonic() + seconds
        with self._changed:
            while len(self._items) >= self._capacity and not self._closed:
                left = limit - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            if self._closed:
                raise ClosedError
            self._items.append(item)
            self._changed.notify_all()
            return True

    def take(self) -> Item:
        """The oldest item."""
        with self._changed:
            while not self._items and not self._closed:
                self._changed.wait()
            if not self._items:
                raise ClosedError
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def close(self) -> None:
        """No more will be put in."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> int:
        """No more will be put in, and what is in it is let go; how much that was."""
        with self._changed:
            left = len(self._items)
            self._items.clear()
        self.close()
        return left
