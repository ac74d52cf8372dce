"""When a batch is sent and what follows from its outcome: decisions only, with the time passed in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, List, Mapping, Optional, Sequence

from .answers import RETRY_AFTER_MAX, SETUP_STATUSES, Outcome, Refused, Retry, Settled, TooLarge
from .encoding import EVENT_BYTES_MAX
from .queues import EventQueue
from .reports import DeliveryError, DroppedEvents, RejectedEvent, Report

EVENTS_MAX = 50
BACKOFF_BASE = 0.5
BACKOFF_MAX = 60.0
#: An event by which the service itself fails is looked for after so many attempts, and given up after so many alone: a quarter of an
#: hour, as the service may rather fail by itself.
_INTERNAL_BEFORE_SPLIT = 3
_INTERNAL_ALONE_MAX = 20


@dataclass(frozen=True)
class BatchLimits:
    """A batch is sent when it has so many events or bytes, or its first event has waited so many seconds."""

    events: int
    bytes: int
    interval: float


@dataclass(frozen=True)
class Verdict:
    """How many of the oldest events are settled, and what is to be said before they are forgotten."""

    settled: int
    reports: Sequence[Report]


class Delivery:
    """Sends the queue in order, one batch at a time.

    :param uniform: draws the jitter, between two numbers.
    :param keeps: whether the queue outlives the process, so that events can wait for another key.
    """

    def __init__(
        self, queue: EventQueue, limits: BatchLimits, uniform: Callable[[float, float], float], keeps: bool = False
    ) -> None:
        self.queue = queue
        self._limits = limits
        self._uniform = uniform
        self._keeps = keeps
        # What an earlier process left has waited long enough.
        self._waiting_since: Optional[float] = float("-inf") if queue.appended > queue.settled else None
        self._attempts = 0
        self._internal = 0
        self._alone = 0
        self._not_before = 0.0
        self._asked_until = 0.0
        self._part = 0
        self._in_parts = 0

    def added(self, now: float) -> None:
        """An event was appended to the queue."""
        if self._waiting_since is None:
            self._waiting_since = now

    def due(self, now: float, flushing: bool) -> Optional[float]:
        """The seconds until a batch is to be sent; None while there is none."""
        pending = self.queue.appended - self.queue.settled
        if pending <= 0 or self._waiting_since is None:
            return None
        pause = max(self._not_before - now, 0.0)
        full = pending >= self._limits.events or self.queue.pending_bytes >= self._limits.bytes
        if flushing or full or self._attempts > 0 or self._in_parts > 0:
            return pause
        return max(pause, self._waiting_since + self._limits.interval - now)

    def take(self) -> List[bytes]:
        """The batch to be sent, which stays in the queue until it is settled."""
        count = self._part if self._in_parts else self._limits.events
        batch = self.queue.peek(count, min(self._limits.bytes, EVENT_BYTES_MAX))
        if not batch:
            self._waiting_since = None
        return batch

    def held_beyond(self, until: float) -> bool:
        """Whether the service does not want to be asked before then."""
        return self._asked_until > until

    def hurry(self) -> None:
        """Ends a pause that the client itself makes; one that the service asked for stands."""
        self._not_before = self._asked_until
        self._attempts = min(self._attempts, 1)

    def judge(self, batch: Sequence[bytes], outcome: Outcome, now: float) -> Verdict:
        """What follows from what became of a batch."""
        if self._keeps and isinstance(outcome, Refused) and outcome.status in SETUP_STATUSES:
            outcome = Retry(outcome.code, outcome.message, outcome.status, RETRY_AFTER_MAX)
        if isinstance(outcome, Retry):
            return self._retry(batch, outcome, now)
        if isinstance(outcome, TooLarge) and len(batch) > 1:
            self._split(batch)
            return Verdict(0, ())
        self._attempts = self._internal = self._alone = 0
        self._not_before = now
        if self._in_parts:
            self._in_parts = max(self._in_parts - len(batch), 0)
            self._part = min(self._part * 2, self._limits.events)
        return Verdict(len(batch), _reports(batch, outcome))

    def settle(self, verdict: Verdict, now: float) -> None:
        """Forgets what is settled, once it was reported."""
        if verdict.settled:
            self.queue.settle(verdict.settled)
        if verdict.settled and self._waiting_since is not None:
            self._waiting_since = now if self.queue.appended > self.queue.settled else None

    def _split(self, batch: Sequence[bytes]) -> None:
        self._in_parts = max(self._in_parts, len(batch))
        self._part = len(batch) // 2

    def _retry(self, batch: Sequence[bytes], outcome: Retry, now: float) -> Verdict:
        if outcome.code == "internal":
            self._internal += 1
            if len(batch) > 1 and self._internal >= _INTERNAL_BEFORE_SPLIT:
                self._split(batch)
            elif len(batch) == 1:
                self._alone += 1
                if self._alone >= _INTERNAL_ALONE_MAX:
                    attempts = self._attempts
                    verdict = self.judge(batch, Refused(outcome.code, outcome.message, outcome.status or 500), now)
                    # Where the service fails at all of them the next one is no reason to ask often.
                    self._attempts = attempts
                    return verdict
        asked = outcome.retry_after or 0.0
        jitter = self._uniform(0.0, min(BACKOFF_MAX, BACKOFF_BASE * 2.0 ** min(self._attempts, 16)))
        self._attempts += 1
        self._asked_until = now + asked
        self._not_before = now + asked + jitter
        return Verdict(0, (DeliveryError(outcome.code, outcome.message, outcome.status, will_retry=True),))


def parsed(batch: Sequence[bytes]) -> List[Mapping[str, Any]]:
    """The events of a batch for a program that is told of them."""
    return [json.loads(record) for record in batch]


def _reports(batch: Sequence[bytes], outcome: Outcome) -> List[Report]:
    if isinstance(outcome, Settled):
        return _of_settled(batch, outcome)
    if isinstance(outcome, TooLarge):
        message = "The event is too large for the service, or for a proxy before it."
        return [DeliveryError("event_too_large", message, 413, will_retry=False, events=parsed(batch))]
    assert isinstance(outcome, Refused)
    return [DeliveryError(outcome.code, outcome.message, outcome.status, will_retry=False, events=parsed(batch))]


def _of_settled(batch: Sequence[bytes], outcome: Settled) -> List[Report]:
    if not (outcome.rejected or outcome.dropped or outcome.filtered):
        return []
    events = parsed(batch)
    reports: List[Report] = [RejectedEvent(events[one.index], one.code, one.message) for one in outcome.rejected]
    indexes = {one.index for one in outcome.rejected}
    others = [event for at, event in enumerate(events) if at not in indexes]
    if outcome.dropped:
        # The service drops the last ones; which these are is certain where none of the others is missing.
        last = others if outcome.filtered else others[len(others) - outcome.dropped :]
        reports.append(DroppedEvents("quota", outcome.dropped, last))
    if outcome.filtered:
        reports.append(DroppedEvents("filtered", outcome.filtered, others))
    return reports
