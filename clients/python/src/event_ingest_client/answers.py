"""What an HTTP answer says of a batch. Only the service's own answers count: a portal's page is no delivery."""

from __future__ import annotations

import json
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

#: The longest pause that an answer may ask for, in seconds.
RETRY_AFTER_MAX = 300.0


@dataclass(frozen=True)
class Response:
    """An answer: its headers by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Rejection:
    """Why the event at a place of the batch was rejected."""

    index: int
    code: str
    message: str


@dataclass(frozen=True)
class Settled:
    """The service has decided on each event of the batch."""

    dropped: int
    filtered: int
    rejected: Sequence[Rejection]


@dataclass(frozen=True)
class Retry:
    """Nothing is delivered for certain; the same is to be sent again."""

    code: str
    message: str
    status: Optional[int] = None
    retry_after: Optional[float] = None


@dataclass(frozen=True)
class TooLarge:
    """The batch is to be sent in parts."""

    message: str


@dataclass(frozen=True)
class Refused:
    """The request as it is will never be taken."""

    code: str
    message: str
    status: int


Outcome = Union[Settled, Retry, TooLarge, Refused]

#: These say that key, address or path are wrong, not the events.
SETUP_STATUSES = frozenset((401, 402, 403, 404, 405, 421))
#: Of these the same request may be taken later.
_PASSING = frozenset((408, 425, 429))


def read_answer(response: Response, sent: int, now: float) -> Outcome:
    """What became of a batch of ``sent`` events.

    :param now: the wall clock in seconds, for a Retry-After that is a date.
    """
    status = response.status
    if status == 413:
        return TooLarge("The request is too large.")
    body = _object(response.body)
    if status == 200:
        settled = None if body is None else _settled(body, sent)
        return settled or Retry("answer_foreign", "The answer is not the service's.", status)
    wait = retry_after(response.headers, now)
    error = None if body is None else _error(body)
    if error is None:
        return Retry("answer_foreign", f"The answer, with status {status}, is not the service's.", status, wait)
    code, message = error
    if status == 400 and code == "events_rejected":
        assert body is not None
        rejected = _rejections(body.get("rejected"), sent)
        if rejected is not None and len(rejected) == sent:
            return Settled(0, 0, rejected)
    if status >= 500 or status in _PASSING:
        return Retry(code, message, status, wait)
    if 400 <= status < 500:
        return Refused(code, message, status)
    return Retry("answer_foreign", f"The answer, with status {status}, is not the service's.", status, wait)


def retry_after(headers: Mapping[str, str], now: float) -> Optional[float]:
    """The seconds to wait, from 0 to RETRY_AFTER_MAX; None where the answer does not say.

    A date is taken by the clock of the server that names it: this machine's may be off.
    """
    said = headers.get("retry-after", "").strip()
    if not said:
        return None
    if said.isascii() and said.isdigit():
        return min(float(said[:10]), RETRY_AFTER_MAX)
    until = _seconds(said)
    if until is None:
        return None
    since = _seconds(headers.get("date", ""))
    return min(max(until - (now if since is None else since), 0.0), RETRY_AFTER_MAX)


def _seconds(http_date: str) -> Optional[float]:
    try:
        return parsedate_to_datetime(http_date).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _object(body: bytes) -> Optional[Mapping[str, Any]]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _settled(body: Mapping[str, Any], sent: int) -> Optional[Settled]:
    accepted, dropped = _count(body.get("accepted")), _count(body.get("dropped", 0))
    rejected = _rejections(body.get("rejected", []), sent)
    if accepted is None or dropped is None or rejected is None:
        return None
    filtered = sent - accepted - dropped - len(rejected)
    return None if filtered < 0 else Settled(dropped, filtered, rejected)


def _count(value: object) -> Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _rejections(value: object, sent: int) -> Optional[Sequence[Rejection]]:
    if not isinstance(value, list):
        return None
    rejections = [_rejection(one, sent) for one in value]
    known = [one for one in rejections if one is not None]
    return known if len(known) == len({one.index for one in known}) == len(value) else None


def _rejection(value: object, sent: int) -> Optional[Rejection]:
    if not isinstance(value, dict):
        return None
    index, code, message = _count(value.get("index")), value.get("code"), value.get("message")
    if index is None or index >= sent or not isinstance(code, str) or not isinstance(message, str):
        return None
    return Rejection(index, code, message)


def _error(body: Mapping[str, Any]) -> Optional[Tuple[str, str]]:
    error = body.get("error")
    if not isinstance(error, dict):
        return None
    code, message = error.get("code"), error.get("message")
    return (code, message) if isinstance(code, str) and isinstance(message, str) else None
