from __future__ import annotations

import json
import random
import unittest
from typing import Any, List, Optional

from event_ingest_client.answers import Outcome, Refused, Rejection, Retry, Settled, TooLarge
from event_ingest_client.delivery import BatchLimits, Delivery
from event_ingest_client.queues import MemoryQueue, fitting

DONE = Settled(0, 0, [])
LIMITS = BatchLimits(50, 256 * 1024, 1.0)


def record(number: int, size: int = 0) -> bytes:
    return json.dumps({"uuid": number, "filler": "x" * size}).encode()


class Line:
    """A delivery whose jitter is the most that may be drawn."""

    def __init__(self, events: int = 0, limits: BatchLimits = LIMITS, keeps: bool = False) -> None:
        self.queue = MemoryQueue(10_000, 10_000_000)
        self.delivery = Delivery(self.queue, limits, lambda low, high: high, keeps)
        self.now = 100.0
        self.reports: List[Any] = []
        for number in range(events):
            self.add(number)

    def add(self, number: int, size: int = 0) -> None:
        self.queue.append(record(number, size))
        self.delivery.added(self.now)

    def due(self, flushing: bool = False) -> Optional[float]:
        return self.delivery.due(self.now, flushing)

    def send(self, outcome: Outcome) -> List[int]:
        batch = self.delivery.take()
        verdict = self.delivery.judge(batch, outcome, self.now)
        self.reports.extend(verdict.reports)
        self.delivery.settle(verdict, self.now)
        return [json.loads(one)["uuid"] for one in batch]


class WhenToSend(unittest.TestCase):
    def test_by_time(self) -> None:
        line = Line()
        self.assertIsNone(line.due())
        line.add(0)
        line.now += 0.25
        line.add(1)
        self.assertEqual(line.due(), 0.75)
        self.assertEqual(line.due(flushing=True), 0.0)

    def test_by_count_and_bytes(self) -> None:
        self.assertEqual(Line(49).due(), 1.0)
        self.assertEqual(Line(50).due(), 0.0)
        line = Line(limits=BatchLimits(50, 1000, 1.0))
        line.add(0, 900)
        self.assertEqual(line.due(), 1.0)
        line.add(1, 900)
        self.assertEqual(line.due(), 0.0)
        self.assertEqual(line.send(DONE), [0])
        self.assertEqual(line.send(DONE), [1])
        self.assertIsNone(line.due())

    def test_a_batch_has_place_in_a_body(self) -> None:
        self.assertEqual(fitting([b"aaa", b"bbb", b"c"], 8), [b"aaa", b"bbb"])
        self.assertEqual(fitting([b"aaa"], 1), [b"aaa"])

    def test_what_is_left_waits_anew(self) -> None:
        line = Line(51)
        self.assertEqual(len(line.send(DONE)), 50)
        self.assertEqual(line.due(), 1.0)


class WhatFollows(unittest.TestCase):
    def test_pauses_grow_to_a_minute_and_the_batch_stays(self) -> None:
        line = Line(2)
        pauses = []
        for _ in range(10):
            self.assertEqual(line.send(Retry("network_failed", "m")), [0, 1])
            pauses.append(line.due())
            line.now += pauses[-1] or 0
        self.assertEqual(pauses, [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60])
        self.assertEqual({(one.code, one.will_retry) for one in line.reports}, {("network_failed", True)})
        line.send(DONE)
        line.add(2)
        line.send(Retry("network_failed", "m"))
        self.assertEqual(line.due(), 0.5)

    def test_jitter_is_full(self) -> None:
        drawn: List[Any] = []

        def draw(low: float, high: float) -> float:
            drawn.append((low, high))
            return low

        line = Line(1)
        line.delivery = Delivery(line.queue, LIMITS, draw)
        for _ in range(3):
            line.send(Retry("network_failed", "m"))
        self.assertEqual(drawn, [(0.0, 0.5), (0.0, 1.0), (0.0, 2.0)])

    def test_the_service_asks_for_a_pause(self) -> None:
        line = Line(1)
        line.send(Retry("rate_limited", "m", 429, 7.0))
        self.assertEqual(line.due(flushing=True), 7.5)
        line.delivery.hurry()
        self.assertEqual(line.due(), 7.0)
        line.now += 7.5
        line.send(Retry("network_failed", "m"))
        line.delivery.hurry()
        self.assertEqual(line.due(), 0.0)

    def test_a_refusal_is_final(self) -> None:
        line = Line(60)
        self.assertEqual(len(line.send(Refused("key_revoked", "m", 403))), 50)
        [report] = line.reports
        self.assertEqual(
            (report.code, report.status, report.will_retry, len(report.events)), ("key_revoked", 403, False, 50)
        )
        self.assertEqual(line.send(DONE), list(range(50, 60)))

    def test_with_a_journal_a_wrong_key_can_wait(self) -> None:
        line = Line(1, keeps=True)
        line.send(Refused("key_revoked", "m", 403))
        [report] = line.reports
        self.assertEqual((report.code, report.status, report.will_retry, report.events), ("key_revoked", 403, True, ()))
        line.delivery.hurry()
        self.assertEqual(line.due(flushing=True), 300.0)
        self.assertTrue(line.delivery.held_beyond(line.now + 299.0))
        line.now += 300.5
        self.assertEqual(line.send(Refused("body_not_json", "m", 400)), [0])
        self.assertIsNone(line.due())

    def test_one_large_event_is_found_among_fifty(self) -> None:
        line = Line(120)
        sent: List[List[int]] = []
        while line.due(flushing=True) is not None:
            batch = [json.loads(one)["uuid"] for one in line.delivery.take()]
            line.send(TooLarge("m") if 33 in batch else DONE)
            sent.append(batch)
        [report] = line.reports
        self.assertEqual((report.code, [one["uuid"] for one in report.events]), ("event_too_large", [33]))
        delivered = [number for batch in sent if 33 not in batch for number in batch]
        self.assertEqual(delivered, [number for number in range(120) if number != 33])
        self.assertLess(len(sent), 25)

    def test_any_large_events_are_found(self) -> None:
        draw = random.Random(1)
        for _ in range(200):
            large = set(draw.sample(range(100), draw.randrange(8)))
            line = Line(100)
            delivered: List[int] = []
            requests = 0
            while line.due(flushing=True) is not None:
                batch = [json.loads(one)["uuid"] for one in line.delivery.take()]
                requests += 1
                if large & set(batch):
                    line.send(TooLarge("m"))
                else:
                    delivered += line.send(DONE)
            self.assertEqual(delivered, [number for number in range(100) if number not in large])
            self.assertEqual({one["uuid"] for report in line.reports for one in report.events}, large)
            self.assertLessEqual(requests, 2 + 12 * (len(large) + 1))

    def test_an_event_by_which_the_service_fails_is_given_up_alone(self) -> None:
        line = Line(50)
        delivered: List[int] = []
        for _ in range(60):
            if line.due(flushing=True) is None:
                break
            batch = [json.loads(one)["uuid"] for one in line.delivery.take()]
            if 7 in batch:
                line.send(Retry("internal", "m", 500))
            else:
                delivered += line.send(DONE)
        self.assertEqual(delivered, [number for number in range(50) if number != 7])
        [given_up] = [report for report in line.reports if not report.will_retry]
        self.assertEqual((given_up.code, [one["uuid"] for one in given_up.events]), ("internal", [7]))

    def test_a_service_that_fails_at_all_events_has_few_given_up_and_is_not_asked_more_often(self) -> None:
        line = Line(200)
        pauses: List[float] = []
        for _ in range(100):
            if line.due(flushing=True) is None:
                break
            line.send(Retry("internal", "m", 500))
            pauses.append(line.delivery._attempts)
        given_up = [report for report in line.reports if not report.will_retry]
        self.assertLessEqual(len(given_up), 100 // 20)
        self.assertEqual(pauses[8:], sorted(pauses[8:]))

    def test_an_outage_gives_up_nothing(self) -> None:
        line = Line(50)
        for _ in range(1000):
            line.send(Retry("not_acknowledged", "m", 503))
        self.assertEqual(line.send(DONE), list(range(50)))

    def test_what_is_not_stored_is_told_apart(self) -> None:
        line = Line(5)
        line.send(Settled(2, 0, [Rejection(4, "timestamp_too_old", "m")]))
        rejected, dropped = line.reports
        self.assertEqual((rejected.event["uuid"], rejected.code), (4, "timestamp_too_old"))
        self.assertEqual((dropped.reason, dropped.count, [one["uuid"] for one in dropped.events]), ("quota", 2, [2, 3]))

    def test_where_the_service_does_not_say_which(self) -> None:
        line = Line(4)
        line.send(Settled(1, 1, [Rejection(0, "c", "m")]))
        told = [(one.reason, one.count, [event["uuid"] for event in one.events]) for one in line.reports[1:]]
        self.assertEqual(told, [("quota", 1, [1, 2, 3]), ("filtered", 1, [1, 2, 3])])


class Bounds(unittest.TestCase):
    def test_a_full_queue_refuses_the_newest(self) -> None:
        by_count, by_bytes = MemoryQueue(2, 1000), MemoryQueue(1000, 5)
        self.assertEqual([by_count.append(b"a"), by_count.append(b"b"), by_count.append(b"c")], [True, True, False])
        self.assertEqual(
            [by_bytes.append(b"aaa"), by_bytes.append(b"bbb"), by_bytes.append(b"cc")], [True, False, True]
        )
        by_count.settle(1)
        self.assertTrue(by_count.append(b"d"))
        self.assertEqual(by_count.peek(9, 1000), [b"b", b"d"])
