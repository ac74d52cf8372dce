"""The client: what programs call, and the thread that sends."""

from __future__ import annotations

import atexit
import os
import random
import re
import ssl
import sys
import threading
import time
import urllib.parse
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .answers import Outcome, Retry, read_answer
from .delivery import EVENTS_MAX, BatchLimits, Delivery, parsed
from .encoding import BODY_BYTES_MAX, Encoded, encode_event
from .events import OFFLINE_SOURCES, Event, OfflineSource, Properties
from .journal import Journal
from .queues import EventQueue, MemoryQueue
from .reports import (
    Callbacks,
    DeliveryError,
    DroppedEvents,
    RejectedEvent,
    Report,
    logger,
)
from .shopper import Shopper
from .transport import HttpTransport, Transport, TransportError
from .uuid7 import uuid7

VERSION = "0.2.0"
_KEY = re.compile(r"svc_sk_[0-9A-Za-z]{32}")
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


@dataclass(frozen=True)
class Ports:
    """The world as the client sees it; tests bring their own."""

    transport: Optional[Transport] = None
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    uniform: Callable[[float, float], float] = random.SystemRandom().uniform
    random_bytes: Callable[[int], bytes] = os.urandom


class Client:
    """Sends events of one site from a thread of its own. Any thread may call it; ``track`` never waits for the network.

    :param url: the service's address, as ``https://events.shop.example``.
    :param key: a server key of the site (``svc_sk_...``).
    :param journal: a folder in which events wait on disk; without one they wait in memory.
    :param journal_bytes: the most that may be in it.
    :param journal_fsync: whether ``track`` returns only when the disk has the event. Otherwise it outlives the process,
        but may be lost with the power.
    :param queue_events, queue_bytes: the most that may wait in memory. A further event is refused (``on_dropped``).
    :param batch_events, batch_bytes, flush_interval: a request leaves with so many events or bytes, or after so many
        seconds.
    :param timeout: seconds that a request may take.
    :param flush_at_exit: seconds that the end of the program may wait for what is unsent; None for not at all.
    :param on_rejected, on_dropped, on_error: told of all that is not delivered, mostly from the client's thread.
    :param ssl_context: for certificates of one's own.
    :raises ValueError: for an address, key or limit that cannot be one.
    :raises JournalError: where another process has the folder open, or it cannot be written.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        journal: Union[str, "os.PathLike[str]", None] = None,
        journal_bytes: int = 256 * 1024 * 1024,
        journal_fsync: bool = True,
        queue_events: int = 10_000,
        queue_bytes: int = 32 * 1024 * 1024,
        batch_events: int = EVENTS_MAX,
        batch_bytes: int = BODY_BYTES_MAX,
        flush_interval: float = 1.0,
        timeout: float = 15.0,
        flush_at_exit: Optional[float] = 5.0,
        on_rejected: Optional[Callable[[RejectedEvent], object]] = None,
        on_dropped: Optional[Callable[[DroppedEvents], object]] = None,
        on_error: Optional[Callable[[DeliveryError], object]] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
        ports: Optional[Ports] = None,
    ) -> None:
        _check_address(url, key)
        if journal is not None and not os.fspath(journal):
            raise ValueError("journal must name a folder")
        limits = {"queue_events": queue_events, "queue_bytes": queue_bytes, "journal_bytes": journal_bytes}
        limits.update({"batch_events": batch_events, "batch_bytes": batch_bytes})
        for name, value in {**limits, "timeout": timeout, "flush_interval": flush_interval}.items():
            if not value > 0:
                raise ValueError(f"{name} must be more than 0")
        self._url = url
        self._ports = ports = ports or Ports()
        self._callbacks = Callbacks(on_rejected, on_dropped, on_error)
        self._limits = BatchLimits(min(batch_events, EVENTS_MAX), batch_bytes, flush_interval)
        self._timeout = timeout
        self._memory = (queue_events, queue_bytes)
        headers = {
            "X-Svc-Key": key,
            "Content-Type": "application/json",
            "User-Agent": f"event-ingest-client-python/{VERSION}",
        }
        self._transport = ports.transport or HttpTransport(url, headers, ssl_context)
        spare = MemoryQueue(queue_events, queue_bytes)
        self._journal = None if journal is None else Journal(journal, journal_bytes, journal_fsync, spare)
        self._closed = False
        self._stopped = False
        self._deadline: Optional[float] = None
        self._lost_journal = False
        self._begin(self._journal or spare)
        self._at_exit: Optional[Callable[[], object]] = None
        if flush_at_exit is not None:
            self._at_exit = partial(self.shutdown, flush_at_exit)
            atexit.register(self._at_exit)
        _clients.add(self)
        if self._delivery.due(ports.monotonic(), False) is not None:
            with self._changed:
                self._ensure_thread()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *raised: object) -> None:
        self.shutdown()

    def __repr__(self) -> str:
        return f"<event_ingest_client.Client {self._url}>"

    @property
    def pending(self) -> int:
        """How many events wait, or are on their way."""
        return self._queue.appended - self._queue.settled

    def track(self, event: Event, shopper: Optional[Shopper] = None) -> Optional[str]:
        """Queues an event and returns its id; None where it is not taken, of which a callback is told.

        :param shopper: whose it is (see ``from_request``), where the event itself does not say.
        """
        return self._enqueue(event, shopper)

    def identify(
        self,
        distinct_id: str,
        traits: Union[Properties, Mapping[str, Any], None] = None,
        shopper: Optional[Shopper] = None,
    ) -> Optional[str]:
        """Says who a visitor is: the customer ``distinct_id``, with what is known of them (``email``, ``phone``, ...).

        The id that the visitor's browser had so far becomes one person with it.
        """
        properties: Dict[str, Any] = dict(traits or {})
        if shopper is not None and shopper.distinct_id not in (None, distinct_id):
            properties.setdefault("$anon_distinct_id", shopper.distinct_id)
        return self._enqueue({"event": "$identify", "distinct_id": distinct_id, "properties": properties}, shopper)

    def track_offline(
        self, event: Event, action_source: Optional[OfflineSource] = None, shopper: Optional[Shopper] = None
    ) -> Optional[str]:
        """As ``track``, for what happened without a browser: in a store, on the phone, in a back office.

        Name every identifier of the customer that is known, and report within seven days: platforms match by these.

        :param action_source: where it happened, unless the property ``$action_source`` says it.
        """
        given = event.get("properties") or {} if isinstance(event, Mapping) else None
        if not isinstance(given, Mapping):
            return self._enqueue(event, shopper)
        properties: Dict[str, Any] = dict(given)
        source = properties.get("$action_source", action_source)
        if source not in OFFLINE_SOURCES:
            message = f"action_source must be one of {', '.join(OFFLINE_SOURCES)}."
            self._callbacks.report(RejectedEvent(event, "action_source_invalid", message))
            return None
        return self._enqueue({**event, "properties": {**properties, "$action_source": source}}, shopper)

    def flush(self, timeout: Optional[float] = 10.0) -> bool:
        """Sends what was tracked so far without waiting for more; tells whether all of it is settled.

        :param timeout: the longest it waits, in seconds; None for however long it takes.
        """
        self._notice_fork()
        if threading.current_thread() is self._thread:
            return False
        with self._changed:
            self._flushing += 1
            try:
                return self._wait_until_settled(self._queue.appended, self._until(timeout))
            finally:
                self._flushing -= 1

    def shutdown(self, deadline: float = 5.0) -> bool:
        """Takes no more events, sends what waits, and ends; tells whether all is settled within ``deadline`` seconds.

        What is left in memory goes to ``on_dropped``; in a journal it waits for the next client.
        """
        self._notice_fork()
        with self._changed:
            if self._stopped:
                return self._queue.appended == self._queue.settled
            self._closed = True
            self._flushing += 1
            self._deadline = self._ports.monotonic() + deadline
            self._delivery.hurry()
            self._changed.notify_all()
            inside = threading.current_thread() is self._thread
            settled = not inside and self._wait_until_settled(self._queue.appended, self._deadline)
            if self._stopped:
                return settled
            self._stopped = True
            self._changed.notify_all()
            left = self._close_queue()
        if self._at_exit is not None:
            atexit.unregister(self._at_exit)
        if left:
            self._callbacks.report(DroppedEvents("shutdown", len(left), parsed(left)))
        return settled

    def _close_queue(self) -> List[bytes]:
        """Closes the journal, or returns what memory still holds."""
        if self._journal is not None:
            self._journal.close()
            return self._journal.unwritten()
        return self._queue.peek(self._queue.appended - self._queue.settled, sys.maxsize)

    def _begin(self, queue: EventQueue) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._thread: Optional[threading.Thread] = None
        self._queue = queue
        self._delivery = Delivery(queue, self._limits, self._ports.uniform, self._journal is not None)
        self._flushing = 0
        self._sending = False

    def _notice_fork(self) -> None:
        """For a fork that Python was not told of, as a server written in C makes them."""
        if self._pid != os.getpid():
            self._after_fork()

    def _after_fork(self) -> None:
        """Begins anew in a forked child: its parent has the thread, and sends what was queued before."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            self._lost_journal = True
        self._begin(MemoryQueue(*self._memory))

    def _enqueue(self, event: Mapping[str, Any], shopper: Optional[Shopper]) -> Optional[str]:
        self._notice_fork()
        if self._lost_journal:
            self._lost_journal = False
            message = "The journal stays with the parent process; this one queues in memory. Make a client in each."
            self._callbacks.report(DeliveryError("journal_in_use", message, None, will_retry=True))
        ports = self._ports
        whole = event if shopper is None else _with_shopper(event, shopper)
        encoded = encode_event(whole, int(ports.wall() * 1000), lambda now_ms: uuid7(now_ms, ports.random_bytes))
        if not isinstance(encoded, Encoded):
            self._callbacks.report(RejectedEvent(event, encoded.code, encoded.message))
            return None
        with self._changed:
            refused = "client_closed" if self._closed else None if self._queue.append(encoded.record) else "queue_full"
            if refused is None:
                self._delivery.added(ports.monotonic())
                self._ensure_thread()
                self._changed.notify_all()
        if refused is not None:
            self._callbacks.report(DroppedEvents(refused, 1, (event,)))
            return None
        return encoded.uuid

    def _ensure_thread(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        thread = threading.Thread(target=self._run, name="event-ingest-client", daemon=True)
        try:
            thread.start()
            self._thread = thread
        except RuntimeError:
            # The interpreter is ending: whoever flushes sends by itself.
            self._thread = None

    def _until(self, timeout: Optional[float]) -> Optional[float]:
        return None if timeout is None else self._ports.monotonic() + timeout

    def _wait_until_settled(self, appended: int, until: Optional[float]) -> bool:
        """Waits, with the lock; sends here where no thread can be had any more."""
        self._ensure_thread()
        self._changed.notify_all()
        while self._queue.settled < appended and not self._stopped:
            left = None if until is None else until - self._ports.monotonic()
            if left is not None and left <= 0:
                break
            if self._closed and until is not None and self._delivery.held_beyond(until):
                # Nothing can come of it before the end.
                break
            if self._thread is None:
                self._step(left)
            else:
                self._changed.wait(left)
        return self._queue.settled >= appended

    def _run(self) -> None:
        with self._changed:
            while not self._stopped and threading.current_thread() is self._thread:
                try:
                    self._step(None)
                except Exception:
                    # Nothing foreseen leads here, and the next events are not to suffer from it.
                    logger.exception("the client failed; it goes on")
                    self._changed.wait(1.0)

    def _step(self, left: Optional[float]) -> None:
        """Waits for the next batch, at most ``left`` seconds, or sends it. Called with the lock, not held meanwhile."""
        pause = None if self._sending else self._delivery.due(self._ports.monotonic(), self._flushing > 0)
        if pause is None or pause > 0:
            waits = [seconds for seconds in (pause, left) if seconds is not None]
            self._changed.wait(min(waits, default=None))
            return
        batch = self._delivery.take()
        self._sending = True
        try:
            self._report_unlocked(self._journal_reports())
            if batch:
                self._deliver(batch)
        finally:
            self._sending = False
            self._changed.notify_all()

    def _deliver(self, batch: Sequence[bytes]) -> None:
        changed = self._changed
        changed.release()
        try:
            outcome = self._send(batch)
        finally:
            changed.acquire()
        if self._stopped:
            return
        verdict = self._delivery.judge(batch, outcome, self._ports.monotonic())
        # Before the events are forgotten: a process that ends in between tells twice, and never not at all.
        self._report_unlocked(verdict.reports)
        if not self._stopped:
            self._delivery.settle(verdict, self._ports.monotonic())

    def _report_unlocked(self, reports: Sequence[Report]) -> None:
        if not reports:
            return
        changed = self._changed
        changed.release()
        try:
            for report in reports:
                self._callbacks.report(report)
        finally:
            changed.acquire()

    def _send(self, batch: Sequence[bytes]) -> Outcome:
        wall = self._ports.wall()
        body = b'{"sent_at":%d,"events":[%s]}' % (int(wall * 1000), b",".join(batch))
        left = self._timeout
        if self._deadline is not None:
            left = max(min(left, self._deadline - self._ports.monotonic()), 0.1)
        try:
            response = self._transport(body, left)
        except TransportError as error:
            return Retry("network_failed", str(error))
        return read_answer(response, len(batch), self._ports.wall())

    def _journal_reports(self) -> List[Report]:
        if self._journal is None:
            return []
        damaged, failure = self._journal.take_faults()
        reports: List[Report] = []
        if damaged:
            message = f"{damaged} damaged places of the journal were skipped."
            reports.append(DeliveryError("journal_damaged", message, None, will_retry=False))
        if failure is not None:
            message = f"The journal cannot be written or read ({failure}); events wait in memory."
            reports.append(DeliveryError("journal_failed", message, None, will_retry=True))
        return reports


def _check_address(url: str, key: str) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except (TypeError, ValueError, AttributeError):
        sound = None
    if not sound or parts.query or parts.fragment or parts.username:
        raise ValueError("url must be the service's address, as https://events.shop.example")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ValueError("key must be a server key: svc_sk_ and 32 letters and digits")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        logger.warning("the key and the events go to %s without encryption: use https", parts.hostname)


def _with_shopper(event: Mapping[str, Any], shopper: Shopper) -> Mapping[str, Any]:
    if not isinstance(event, Mapping):
        return event
    given = event.get("properties")
    if given is not None and not isinstance(given, Mapping):
        return event
    said = {"client_ip_address": shopper.ip, "client_user_agent": shopper.user_agent}
    properties = {**{name: value for name, value in said.items() if value is not None}, **(given or {})}
    whole = {**event, "properties": properties}
    if whole.get("distinct_id") is None:
        whole["distinct_id"] = shopper.distinct_id
    return whole


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for client in list(_clients):
        client._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
