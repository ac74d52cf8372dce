"""A queue on disk: events outlive the process, and with ``fsync`` the loss of power.

A folder holds segments (``0000000000000001.log`` and so on), ``acks`` and ``lock``. A segment is only ever appended to;
each line is the CRC-32 of an event and the event. ``acks`` has a line for each batch that was settled: the segment and
the offset up to which everything is. A process never appends to the segment of another, so that a last line which was
torn off harms none but itself, and removes a segment when all in it is settled. ``lock`` is held by the process that
has the folder open; the operating system releases it with that process, however it ends.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections import deque
from pathlib import Path
from typing import Deque, Dict, List, NamedTuple, Optional, Tuple, Union

from .queues import MemoryQueue, fitting

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_SEGMENT_BYTES = 1024 * 1024
_READ_BYTES = 1024 * 1024
_ACKS_BYTES_MAX = 64 * 1024
_SEGMENT_NAME = re.compile(r"^(\d{16})\.log$")
_BINARY = getattr(os, "O_BINARY", 0)


class JournalError(Exception):
    """The folder cannot be used. ``code``: ``journal_in_use`` (another process has it open) or ``journal_unusable``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class _Position(NamedTuple):
    segment: int
    offset: int


class _Waiting(NamedTuple):
    record: bytes
    #: Where it ends on disk; None for one that could not be written.
    end: Optional[_Position]


class Journal:
    """The queue in a folder, which is made if it is not there.

    When ``bytes_max`` are on disk the newest event is refused. An event that the disk does not take waits in ``spare``.
    @raises JournalError
    """

    def __init__(self, folder: Union[str, "os.PathLike[str]"], bytes_max: int, fsync: bool, spare: MemoryQueue) -> None:
        self._folder = Path(folder)
        self._bytes_max = bytes_max
        self._segment_bytes = min(_SEGMENT_BYTES, max(bytes_max // 4, 1))
        self._fsync = fsync
        self._spare = spare
        self._active: Optional[int] = None
        self._active_fd: Optional[int] = None
        self._active_size = 0
        self._acks: Optional[int] = None
        self._acks_size = 0
        self._read: Deque[_Waiting] = deque()
        self._damaged = 0
        self._failure: Optional[str] = None
        #: Since a write that failed: said once, not for each event.
        self._failing = False
        self._sizes: Dict[int, int] = {}
        self.appended = self.settled = self.pending_bytes = 0
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock: Optional[int] = _locked(self._folder / "lock")
        except OSError as error:
            raise JournalError("journal_unusable", f"{self._folder}: {error.strerror}") from error
        try:
            self._open()
        except OSError as error:
            self.close()
            raise JournalError("journal_unusable", f"{self._folder}: {error.strerror}") from error

    def append(self, record: bytes) -> bool:
        line = _line(record)
        if sum(self._sizes.values()) + len(line) > self._bytes_max and self.appended == self.settled:
            self._retire_active()
            self._remove_below(self._last + 1)
        if sum(self._sizes.values()) + len(line) > self._bytes_max:
            return False
        try:
            self._write(line)
            self._failing = False
        except OSError as error:
            self._failed(error)
            if not self._spare.append(record):
                return False
        self.appended += 1
        self.pending_bytes += len(record)
        return True

    def peek(self, count: int, byte_limit: int) -> List[bytes]:
        while len(self._read) < count and self._read_on():
            pass
        while len(self._read) < count:
            spare = self._spare.peek(1, byte_limit)
            if not spare:
                break
            self._spare.settle(1)
            self._read.append(_Waiting(spare[0], None))
        if not self._read:
            # Whatever was counted beyond this could not be read.
            self.settled, self.pending_bytes = self.appended, 0
        return fitting([self._read[at].record for at in range(min(count, len(self._read)))], byte_limit)

    def settle(self, count: int) -> None:
        end: Optional[_Position] = None
        for _ in range(count):
            waiting = self._read.popleft()
            end = waiting.end or end
            self.pending_bytes -= len(waiting.record)
        self.settled += count
        if end is None:
            return
        try:
            self._acknowledge(end)
        except OSError as error:
            # After a restart these are sent once more, under the same ids. Nothing may stand behind half a line.
            self._failed(error)
            self._acks_size = _ACKS_BYTES_MAX
        self._remove_below(self._first_needed())

    def unwritten(self) -> List[bytes]:
        """The events that the disk did not take, and that end with the process."""
        waiting = [waiting.record for waiting in self._read if waiting.end is None]
        return waiting + self._spare.peek(self._spare.appended - self._spare.settled, sys.maxsize)

    def take_faults(self) -> Tuple[int, Optional[str]]:
        """How many damaged places were skipped, and why the disk failed, since this was asked last."""
        damaged, failure = self._damaged, self._failure
        self._damaged, self._failure = 0, None
        return damaged, failure

    def _failed(self, error: OSError) -> None:
        if not self._failing:
            self._failure = error.strerror or type(error).__name__
        self._failing = True

    def close(self) -> None:
        """Lets the folder go; whoever opens it next sends the rest. In a forked child the parent keeps its lock."""
        for descriptor in (self._active_fd, self._acks, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._active = self._active_fd = self._acks = self._lock = None

    def _open(self) -> None:
        for name in os.listdir(self._folder):
            match = _SEGMENT_NAME.match(name)
            if match:
                self._sizes[int(match.group(1))] = (self._folder / name).stat().st_size
        acknowledged = self._last_acknowledged()
        self._last = max([*self._sizes, acknowledged.segment])
        self._at = acknowledged
        self._remove_below(acknowledged.segment)
        if acknowledged.segment not in self._sizes:
            self._at = _Position(min(self._sizes, default=self._last + 1), 0)
        for segment in self._sizes:
            rest = self._bytes_of(segment, self._at.offset if segment == self._at.segment else 0)
            self.appended += rest.count(b"\n")
            self.pending_bytes += len(rest)
        try:
            self._start_acks(acknowledged)
        except OSError as error:
            # A full disk: what waits is sent all the same, which makes room.
            self._failed(error)

    def _path(self, segment: int) -> Path:
        return self._folder / f"{segment:016d}.log"

    def _bytes_of(self, segment: int, offset: int, count: int = -1) -> bytes:
        with open(self._path(segment), "rb") as file:
            file.seek(offset)
            return file.read(count)

    def _write(self, line: bytes) -> None:
        """Appends a line whole, or not at all."""
        if self._active_fd is not None and self._active_size >= self._segment_bytes:
            self._retire_active()
        if self._active_fd is None:
            self._last += 1
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _BINARY
            self._active_fd = os.open(self._path(self._last), flags, 0o600)
            self._active, self._active_size, self._sizes[self._last] = self._last, 0, 0
            self._sync_folder()
        try:
            _write_all(self._active_fd, line)
            if self._fsync:
                os.fsync(self._active_fd)
        except OSError:
            self._undo_write()
            raise
        self._active_size += len(line)
        self._sizes[self._last] = self._active_size

    def _undo_write(self) -> None:
        assert self._active_fd is not None
        try:
            os.ftruncate(self._active_fd, self._active_size)
        except OSError:
            # Nothing may stand behind half a line.
            self._retire_active()

    def _retire_active(self) -> None:
        if self._active_fd is not None:
            os.close(self._active_fd)
        self._active = self._active_fd = None

    def _sync_folder(self) -> None:
        """Has the disk know of a new file."""
        if not self._fsync or sys.platform == "win32":
            return
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _read_on(self) -> bool:
        """Reads what follows; tells whether there was anything."""
        segment, offset = self._at
        size = self._sizes.get(segment)
        if size is None or offset >= size:
            return self._next_segment()
        try:
            data = self._bytes_of(segment, offset, min(_READ_BYTES, size - offset))
        except OSError as error:
            # What comes behind it is not held up. The file stays, and is read again by the next process.
            self._failed(error)
            del self._sizes[segment]
            return self._next_segment()
        whole = data.rfind(b"\n") + 1
        if whole == 0:
            # A line that the loss of power tore off, or no line at all.
            self._damaged += 1
            whole = len(data) or size - offset
        else:
            self._take_lines(segment, offset, data[:whole])
        self._at = _Position(segment, offset + whole)
        return True

    def _next_segment(self) -> bool:
        following = [segment for segment in self._sizes if segment > self._at.segment]
        if not following:
            return False
        self._at = _Position(min(following), 0)
        self._remove_below(self._first_needed())
        return True

    def _take_lines(self, segment: int, offset: int, data: bytes) -> None:
        for line in _lines(data):
            offset += len(line)
            record = _record(line)
            if record is None:
                self._damaged += 1
                self.settled += 1
            else:
                self._read.append(_Waiting(record, _Position(segment, offset)))

    def _first_needed(self) -> int:
        return next((waiting.end.segment for waiting in self._read if waiting.end), self._at.segment)

    def _remove_below(self, segment: int) -> None:
        for old in [old for old in self._sizes if old < segment and old != self._active]:
            try:
                self._path(old).unlink()
            except OSError as error:
                self._failed(error)
                continue
            del self._sizes[old]

    def _last_acknowledged(self) -> _Position:
        try:
            data = (self._folder / "acks").read_bytes()
        except FileNotFoundError:
            return _Position(0, 0)
        known = [_position(line) for line in _lines(data)]
        return max([position for position in known if position], default=_Position(0, 0))

    def _start_acks(self, position: _Position) -> None:
        """Has the file hold nothing but the last line, which is there at any moment."""
        line = _line(b"%d %d" % position)
        fresh = self._folder / "acks.new"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
        try:
            _write_all(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if self._acks is not None:
            os.close(self._acks)
            self._acks = None
        os.replace(fresh, self._folder / "acks")
        self._acks = os.open(self._folder / "acks", os.O_WRONLY | os.O_APPEND | _BINARY)
        self._acks_size = len(line)

    def _acknowledge(self, position: _Position) -> None:
        if self._acks is None or self._acks_size >= _ACKS_BYTES_MAX:
            self._start_acks(position)
            return
        line = _line(b"%d %d" % position)
        _write_all(self._acks, line)
        self._acks_size += len(line)


def _line(data: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _lines(data: bytes) -> List[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def _record(line: bytes) -> Optional[bytes]:
    """The data of a line; None where it is not whole."""
    data = line[9:-1]
    return data if line == _line(data) else None


def _position(line: bytes) -> Optional[_Position]:
    words = (_record(line) or b"").split()
    return _Position(int(words[0]), int(words[1])) if len(words) == 2 else None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _locked(path: Path) -> int:
    """The lock of a folder. A file that an ended process left is taken over: the lock is the system's, not the file.

    @raises JournalError where another process has it
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o600)
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        os.close(descriptor)
        message = f"{path.parent} is open in another process: each needs a folder of its own."
        raise JournalError("journal_in_use", message) from error
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
