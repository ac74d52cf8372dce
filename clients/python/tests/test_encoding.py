from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import json
import math
import os
import time
import unittest
import uuid
from typing import Any, Dict

from event_ingest_client.encoding import EVENT_BYTES_MAX, Encoded, Unencodable, encode_event
from event_ingest_client.uuid7 import uuid7

NOW_MS = 1_795_168_800_123


def encode(event: object) -> Dict[str, Any]:
    encoded = encode_event(event, NOW_MS, lambda now_ms: f"id-{now_ms}")
    assert isinstance(encoded, Encoded), encoded
    sent: Dict[str, Any] = json.loads(encoded.record)
    return sent


def sent_as(value: object) -> Any:
    return encode({"event": "e", "properties": {"p": value}})["properties"]["p"]


def code_of(event: object) -> str:
    encoded = encode_event(event, NOW_MS, lambda now_ms: "id")
    assert isinstance(encoded, Unencodable), encoded
    return encoded.code


class Size(enum.Enum):
    LARGE = "l"


class Hostile(Dict[str, Any]):
    def items(self) -> Any:
        raise KeyError("jane@example.com")


class EncodeEvent(unittest.TestCase):
    def test_id_and_time_are_filled_in(self) -> None:
        self.assertEqual(
            encode({"event": "purchase"}),
            {"event": "purchase", "uuid": f"id-{NOW_MS}", "timestamp": "2026-11-20T10:00:00.123Z"},
        )

    def test_what_is_given_stays(self) -> None:
        given = {
            "event": "e",
            "uuid": "u",
            "distinct_id": "d",
            "timestamp": "2026-01-01T00:00:00Z",
            "properties": {"a": [1]},
        }
        self.assertEqual(encode(given), given)

    def test_values(self) -> None:
        local = datetime.datetime(2026, 7, 1, 12, 0)
        utc = local.astimezone(datetime.timezone.utc)
        an_id = uuid.UUID(int=7)
        east = datetime.timezone(datetime.timedelta(hours=2))
        for value, sent in [
            (decimal.Decimal("12.50"), 12.5),
            (decimal.Decimal("80"), 80),
            (decimal.Decimal("80.00"), 80),
            (decimal.Decimal("0.1") + decimal.Decimal("0.2"), 0.3),
            (decimal.Decimal("12345678901234567890"), "12345678901234567890"),
            (decimal.Decimal("1E+40"), 1e40),
            (2**53 - 1, 2**53 - 1),
            (2**53, str(2**53)),
            (-(2**70), str(-(2**70))),
            (fractions.Fraction(1, 4), 0.25),
            (True, True),
            (None, None),
            (datetime.datetime(2026, 7, 1, 12, 0, 0, 5999, east), "2026-07-01T10:00:00.005Z"),
            (local, f"{utc:%Y-%m-%dT%H:%M:%S}.000Z"),
            (datetime.date(2026, 7, 1), "2026-07-01"),
            (an_id, str(an_id)),
            (Size.LARGE, "l"),
            ((1, 2), [1, 2]),
            ({"a"}, ["a"]),
            ({1: {Size.LARGE: "x"}}, {"1": {"l": "x"}}),
            ("\ud800", "\ud800"),
            ("line\nbreak \u2028 ü", "line\nbreak \u2028 ü"),
        ]:
            with self.subTest(value=value):
                self.assertEqual(sent_as(value), sent)

    def test_a_record_is_one_line_of_utf_8(self) -> None:
        for text in ["a\nb", "\ud800", "ü\r"]:
            encoded = encode_event({"event": text}, NOW_MS, lambda now_ms: "id")
            assert isinstance(encoded, Encoded)
            self.assertEqual(len(encoded.record.splitlines()), 1)
            encoded.record.decode("utf-8")

    def test_naive_times_are_local(self) -> None:
        before = os.environ.get("TZ")
        os.environ["TZ"] = "XYZ-3"
        time.tzset()
        try:
            self.assertEqual(sent_as(datetime.datetime(2026, 7, 1, 12, 0)), "2026-07-01T09:00:00.000Z")
        finally:
            os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
            time.tzset()

    def test_what_cannot_be_sent_is_named_by_a_code(self) -> None:
        circular: Dict[str, Any] = {}
        circular["self"] = circular
        for value in [math.nan, math.inf, decimal.Decimal("NaN"), decimal.Decimal("1E+999"), b"x", object(), circular]:
            with self.subTest(value=type(value)):
                self.assertEqual(code_of({"event": "e", "properties": {"p": value}}), "event_not_serialisable")
        for event, code in [
            ("purchase", "event_not_object"),
            (None, "event_not_object"),
            ({}, "event_name_missing"),
            ({"event": " "}, "event_name_missing"),
            ({"event": 5}, "event_name_missing"),
            ({"event": "e", "userId": "u"}, "event_field_unknown"),
            ({"event": "e", "uuid": ["x"]}, "event_not_serialisable"),
            ({"event": "e", "distinct_id": True}, "event_not_serialisable"),
            ({"event": "e", "properties": {("a",): 1}}, "event_not_serialisable"),
            ({"event": "e", "properties": Hostile(a=1)}, "event_not_serialisable"),
            ({"event": "e", "properties": {"p": "x" * EVENT_BYTES_MAX}}, "event_too_large"),
        ]:
            with self.subTest(code=code, kind=type(event)):
                self.assertEqual(code_of(event), code)

    def test_messages_quote_nothing_of_an_event(self) -> None:
        encoded = encode_event({"event": "e", "properties": Hostile(a=1)}, NOW_MS, lambda now_ms: "id")
        assert isinstance(encoded, Unencodable)
        self.assertNotIn("jane", encoded.message)

    def test_numbers_of_customers_are_ids(self) -> None:
        self.assertEqual(encode({"event": "e", "distinct_id": 42})["distinct_id"], "42")
        self.assertNotIn("distinct_id", encode({"event": "e", "distinct_id": None}))


class Uuid7(unittest.TestCase):
    def test_time_version_and_variant(self) -> None:
        low, high = uuid7(NOW_MS, lambda count: b"\0" * count), uuid7(NOW_MS, lambda count: b"\xff" * count)
        self.assertEqual(low, f"{NOW_MS:012x}"[:8] + "-" + f"{NOW_MS:012x}"[8:] + "-7000-8000-000000000000")
        self.assertEqual(high[13:], "-7fff-bfff-ffffffffffff")
        self.assertEqual(uuid.UUID(high).variant, uuid.RFC_4122)

    def test_later_ids_sort_behind_earlier_ones(self) -> None:
        ids = [uuid7(NOW_MS + at) for at in range(100)]
        self.assertEqual(ids, sorted(set(ids)))
