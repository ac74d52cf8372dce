from __future__ import annotations

import unittest

from event_ingest_client.answers import (
    Refused,
    Rejection,
    Response,
    Retry,
    Settled,
    TooLarge,
    read_answer,
    retry_after,
)

from .fakes import answer, error

NOW = 1_795_168_800.0
ONE = {"index": 1, "code": "event_name_missing", "message": "m"}


class ReadAnswer(unittest.TestCase):
    def test_the_service_has_decided(self) -> None:
        for body, settled in [
            ({"accepted": 3}, Settled(0, 0, [])),
            ({"accepted": 0}, Settled(0, 3, [])),
            ({"accepted": 1, "dropped": 2}, Settled(2, 0, [])),
            ({"accepted": 1, "rejected": [ONE]}, Settled(0, 1, [Rejection(1, "event_name_missing", "m")])),
            ({"accepted": 3, "warnings": [{"index": 0}]}, Settled(0, 0, [])),
        ]:
            with self.subTest(body=body):
                self.assertEqual(read_answer(answer(200, body), 3, NOW), settled)

    def test_a_portal_is_no_delivery(self) -> None:
        page = Response(200, {"content-type": "text/html"}, b"<html>Log in to the hotel's network</html>")
        bodies = [{}, {"accepted": True}, {"accepted": "3"}, {"accepted": -1}, {"accepted": 4}, [3], None]
        bodies += [
            {"accepted": 3, "rejected": [ONE]},
            {"accepted": 1, "dropped": 3},
            {"accepted": 1, "rejected": [ONE, ONE]},
        ]
        bodies += [
            {"accepted": 1, "rejected": [{**ONE, "index": 3}]},
            {"accepted": 1, "rejected": [{"index": 1}]},
            {"ok": True},
        ]
        for response in [
            page,
            Response(200, {}, b""),
            Response(200, {}, b"[" * 100_000),
            *(answer(200, body) for body in bodies),
        ]:
            with self.subTest(body=response.body[:40]):
                outcome = read_answer(response, 3, NOW)
                assert isinstance(outcome, Retry)
                self.assertEqual(outcome.code, "answer_foreign")

    def test_statuses(self) -> None:
        for status, code in [(429, "rate_limited"), (503, "overloaded"), (500, "internal"), (408, "request_timeout")]:
            self.assertEqual(read_answer(error(status, code), 1, NOW), Retry(code, "m", status))
        for status, code in [(400, "body_not_json"), (401, "key_missing"), (403, "key_revoked"), (404, "not_found")]:
            self.assertEqual(read_answer(error(status, code), 1, NOW), Refused(code, "m", status))
        self.assertIsInstance(read_answer(error(413, "events_too_many"), 1, NOW), TooLarge)
        self.assertIsInstance(read_answer(Response(413, {}, b"<html>nginx</html>"), 1, NOW), TooLarge)

    def test_others_errors_and_redirects_are_no_refusals(self) -> None:
        for status in [204, 301, 302, 307, 400, 401, 403, 404, 407, 502, 504, 511]:
            outcome = read_answer(Response(status, {"location": "https://portal.example/"}, b"<html></html>"), 1, NOW)
            assert isinstance(outcome, Retry)
            self.assertEqual((outcome.code, outcome.status), ("answer_foreign", status))

    def test_all_rejected(self) -> None:
        body = {"error": {"code": "events_rejected", "message": "m"}, "rejected": [{**ONE, "index": 0}]}
        self.assertEqual(
            read_answer(answer(400, body), 1, NOW), Settled(0, 0, [Rejection(0, "event_name_missing", "m")])
        )
        self.assertEqual(read_answer(answer(400, body), 2, NOW), Refused("events_rejected", "m", 400))

    def test_the_pause_that_is_asked_for(self) -> None:
        outcome = read_answer(error(429, "rate_limited", retry_after="7"), 1, NOW)
        self.assertEqual(outcome, Retry("rate_limited", "m", 429, 7.0))

    def test_retry_after(self) -> None:
        date = "Fri, 20 Nov 2026 10:00:30 GMT"
        for headers, seconds in [
            ({}, None),
            ({"retry-after": "12"}, 12.0),
            ({"retry-after": "0"}, 0.0),
            ({"retry-after": "9" * 400}, 300.0),
            ({"retry-after": date}, 30.0),
            ({"retry-after": date, "date": "Fri, 20 Nov 2026 10:00:20 GMT"}, 10.0),
            ({"retry-after": "Fri, 20 Nov 2026 09:00:00 GMT"}, 0.0),
            ({"retry-after": "Fri, 20 Nov 2037 09:00:00 GMT"}, 300.0),
            ({"retry-after": "soon"}, None),
            ({"retry-after": "-5"}, None),
            ({"retry-after": "\u0665"}, None),
        ]:
            with self.subTest(headers=headers):
                self.assertEqual(retry_after(headers, NOW), seconds)
