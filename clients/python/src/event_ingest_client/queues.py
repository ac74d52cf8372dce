"""Where events wait: what every queue does, and the one in memory."""

from __future__ import annotations

from collections import deque
from typing import Deque, List, Protocol, Sequence


class EventQueue(Protocol):
    """Events as JSON, oldest first. Not safe for threads: its owner holds a lock."""

    #: All that ever waited, and how many of these are settled.
    appended: int
    settled: int
    pending_bytes: int

    def append(self, record: bytes) -> bool:
        """Takes an event, unless the queue is full."""

    def peek(self, count: int, byte_limit: int) -> List[bytes]:
        """The oldest events, together no more than these, but at least one if any waits."""

    def settle(self, count: int) -> None:
        """Forgets the oldest ``count`` events of the last ``peek``."""


class MemoryQueue:
    """A queue that ends with its process. When it is full the newest event is refused."""

    def __init__(self, events_max: int, bytes_max: int) -> None:
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._records: Deque[bytes] = deque()
        self.appended = 0
        self.settled = 0
        self.pending_bytes = 0

    def append(self, record: bytes) -> bool:
        if len(self._records) >= self._events_max or self.pending_bytes + len(record) > self._bytes_max:
            return False
        self._records.append(record)
        self.appended += 1
        self.pending_bytes += len(record)
        return True

    def peek(self, count: int, byte_limit: int) -> List[bytes]:
        return fitting([self._records[at] for at in range(min(count, len(self._records)))], byte_limit)

    def settle(self, count: int) -> None:
        for _ in range(count):
            self.pending_bytes -= len(self._records.popleft())
        self.settled += count


def fitting(records: Sequence[bytes], byte_limit: int) -> List[bytes]:
    """The first records that have place in a body with a comma between them; the first in any case."""
    taken: List[bytes] = []
    size = 0
    for record in records:
        size += len(record) + 1
        if taken and size > byte_limit:
            break
        taken.append(record)
    return taken
