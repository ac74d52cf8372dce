"""From an event as a program has it to the JSON that is sent, or the reason why it cannot be."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import numbers
import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Callable, Dict, Union

BODY_BYTES_MAX = 256 * 1024
#: Of one event: what stands around the events of a request takes the rest.
EVENT_BYTES_MAX = BODY_BYTES_MAX - 64
_FIELDS = frozenset(("event", "uuid", "distinct_id", "timestamp", "properties"))
_DEPTH_MAX = 32
#: JavaScript's numbers hold no more digits, and the service would change the others.
_INTEGER_MAX = 2**53 - 1


@dataclass(frozen=True)
class Encoded:
    """An event as it is sent, under its id."""

    uuid: str
    record: bytes


@dataclass(frozen=True)
class Unencodable:
    """Why an event cannot be sent; the message names no value of it."""

    code: str
    message: str


class _Unserialisable(Exception):
    pass


def encode_event(event: object, now_ms: int, new_uuid: Callable[[int], str]) -> Union[Encoded, Unencodable]:
    """The event as JSON, with an id and a time where it has none.

    Texts of the result are UTF-8 without line breaks. Whatever ``event`` is, nothing is raised.
    """
    if not isinstance(event, Mapping):
        return Unencodable("event_not_object", "An event must be a mapping.")
    try:
        return _encode(event, now_ms, new_uuid)
    except _Unserialisable as error:
        return Unencodable("event_not_serialisable", str(error))
    except Exception as error:  # values bring code of their own, and other threads may change them meanwhile
        return Unencodable("event_not_serialisable", f"The event cannot be written as JSON ({type(error).__name__}).")


def _encode(event: Mapping[Any, Any], now_ms: int, new_uuid: Callable[[int], str]) -> Union[Encoded, Unencodable]:
    unknown = [name for name in event if name not in _FIELDS]
    if unknown:
        return Unencodable("event_field_unknown", f"An event has {', '.join(sorted(_FIELDS))}, and no other field.")
    name = event.get("event")
    if not isinstance(name, str) or not name.strip():
        return Unencodable("event_name_missing", "event is required.")
    sent: Dict[str, Any] = {"event": name}
    given = event.get("uuid")
    sent["uuid"] = new_uuid(now_ms) if given is None else _id(given, "uuid")
    if event.get("distinct_id") is not None:
        sent["distinct_id"] = _id(event["distinct_id"], "distinct_id")
    time = event.get("timestamp")
    sent["timestamp"] = iso8601(now_ms) if time is None else _plain(time, 0)
    if event.get("properties") is not None:
        sent["properties"] = _plain(event["properties"], 0)
    record = _json(sent)
    if len(record) > EVENT_BYTES_MAX:
        return Unencodable("event_too_large", f"An event may take {EVENT_BYTES_MAX} bytes as JSON.")
    return Encoded(sent["uuid"], record)


def iso8601(ms: int) -> str:
    """Milliseconds since 1970 as text, in UTC."""
    moment = datetime.datetime.fromtimestamp(ms // 1000, datetime.timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def _id(value: object, field: str) -> str:
    if isinstance(value, (str, uuid.UUID)) or (isinstance(value, numbers.Integral) and not isinstance(value, bool)):
        return str(value)
    raise _Unserialisable(f"{field} must be a text, a UUID or an integer.")


def _json(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        # Half a surrogate pair is no UTF-8, and would have the whole request refused; escaped, it hurts nobody.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _plain(value: Any, depth: int) -> Any:
    """The value as JSON has it."""
    if depth > _DEPTH_MAX:
        raise _Unserialisable(f"Properties may be nested {_DEPTH_MAX} levels deep.")
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth)
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Integral):
        return _integer(int(value))
    if isinstance(value, decimal.Decimal):
        return _decimal(value)
    if isinstance(value, numbers.Real):
        return _finite(float(value))
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.timezone.utc)
        return utc.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key): _plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [_plain(one, depth + 1) for one in value]
    raise _Unserialisable(f"A value of the type {type(value).__name__} cannot be written as JSON.")


def _key(key: object) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, (str, uuid.UUID)) or (isinstance(key, int) and not isinstance(key, bool)):
        return str(key)
    raise _Unserialisable(f"A property cannot be named by a value of the type {type(key).__name__}.")


def _integer(value: int) -> Union[int, str]:
    return value if abs(value) <= _INTEGER_MAX else str(value)


def _decimal(value: decimal.Decimal) -> Union[int, float, str]:
    if not value.is_finite():
        raise _Unserialisable("NaN and infinity are no numbers of JSON.")
    if value.adjusted() < 30 and value == value.to_integral_value():
        return _integer(int(value))
    return _finite(float(value))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise _Unserialisable("NaN and infinity are no numbers of JSON.")
    return value
