"""What a client tells its program of: nothing that is not delivered goes unsaid."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, Union

logger = logging.getLogger("event_ingest_client")


@dataclass(frozen=True)
class RejectedEvent:
    """An event that was not taken and never will be, as it is: by the service, or before it was sent.

    ``code`` is stable: one of the service's codes of single events, or ``event_not_object``, ``event_field_unknown``,
    ``event_not_serialisable``, ``event_too_large``, ``action_source_invalid``.
    """

    event: Mapping[str, Any]
    code: str
    message: str


@dataclass(frozen=True)
class DroppedEvents:
    """Sound events that are not stored.

    ``reason``: ``quota`` (the account's month is used up), ``filtered`` (a robot's, or blocked by the site),
    ``queue_full``, ``shutdown`` (not sent before its deadline; some may be stored), ``client_closed`` (tracked later).
    ``events`` are exactly these where they are ``count``; otherwise the service does not say which of them.
    """

    reason: str
    count: int
    events: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class DeliveryError:
    """A request that delivered nothing, or a fault of the journal.

    ``code``: the service's, or ``network_failed``, ``answer_foreign`` (another than the service answered),
    ``event_too_large``, ``journal_failed``, ``journal_damaged``, ``journal_in_use``. With ``will_retry`` the events
    stay with the client; otherwise they are given up, and handed over in ``events``.
    """

    code: str
    message: str
    status: Optional[int]
    will_retry: bool
    events: Sequence[Mapping[str, Any]] = ()


Report = Union[RejectedEvent, DroppedEvents, DeliveryError]


@dataclass(frozen=True)
class Callbacks:
    """Where reports go; without one they are logged, without anything of the events but their ids."""

    on_rejected: Optional[Callable[[RejectedEvent], object]] = None
    on_dropped: Optional[Callable[[DroppedEvents], object]] = None
    on_error: Optional[Callable[[DeliveryError], object]] = None

    def report(self, report: Report) -> None:
        """Tells the program. What its callback raises is logged and goes no further."""
        try:
            self._tell(report)
        except Exception:
            logger.exception("a callback of the client raised")

    def _tell(self, report: Report) -> None:
        if isinstance(report, RejectedEvent):
            if self.on_rejected is not None:
                self.on_rejected(report)
            else:
                logger.error("event %s rejected: %s: %s", _id_of(report.event), report.code, report.message)
        elif isinstance(report, DroppedEvents):
            if self.on_dropped is not None:
                self.on_dropped(report)
            else:
                logger.warning("%d events dropped: %s", report.count, report.reason)
        elif self.on_error is not None:
            self.on_error(report)
        elif report.will_retry:
            logger.warning("not delivered, trying again: %s: %s", report.code, report.message)
        else:
            logger.error("%d events given up: %s: %s", len(report.events), report.code, report.message)


def _id_of(event: Mapping[str, Any]) -> object:
    return event.get("uuid") if isinstance(event, Mapping) else None
