from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, List
from unittest import mock

from event_ingest_client.journal import Journal, JournalError
from event_ingest_client.queues import MemoryQueue

LARGE = 1_000_000


def record(number: int, size: int = 10) -> bytes:
    return b'{"n":%d,"filler":"%s"}' % (number, b"x" * size)


def numbers(records: List[bytes]) -> List[int]:
    return [int(one.split(b":")[1].split(b",")[0]) for one in records]


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="journal-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def open(self, bytes_max: int = LARGE, spare: int = 100) -> Journal:
        journal = Journal(self.folder, bytes_max, True, MemoryQueue(spare, LARGE))
        self.addCleanup(journal.close)
        return journal

    def all_of(self, journal: Journal) -> List[int]:
        """Everything that waits, settled batch by batch."""
        found: List[int] = []
        while True:
            batch = journal.peek(50, LARGE)
            if not batch:
                return found
            found += numbers(batch)
            journal.settle(len(batch))

    def segments(self) -> List[str]:
        return sorted(path.name for path in self.folder.glob("*.log"))


class Order(InFolder):
    def test_events_outlive_the_process_and_go_once(self) -> None:
        journal = self.open()
        for number in range(10):
            self.assertTrue(journal.append(record(number)))
        self.assertEqual(numbers(journal.peek(4, LARGE)), [0, 1, 2, 3])
        journal.settle(4)
        journal.close()
        again = self.open()
        self.assertEqual(again.appended - again.settled, 6)
        again.append(record(10))
        self.assertEqual(numbers(again.peek(3, LARGE)), [4, 5, 6])
        again.settle(2)
        again.close()
        self.assertEqual(self.all_of(self.open()), [6, 7, 8, 9, 10])

    def test_nothing_comes_back_once_all_is_settled(self) -> None:
        for run in range(5):
            journal = self.open()
            journal.append(record(run))
            self.assertEqual(self.all_of(journal), [run])
            journal.close()
        self.assertLessEqual(len(self.segments()), 1)

    def test_a_body_bounds_a_batch(self) -> None:
        journal = self.open()
        for number in range(3):
            journal.append(record(number, 100))
        self.assertEqual(numbers(journal.peek(50, 260)), [0, 1])

    def test_segments_are_bounded_and_removed(self) -> None:
        journal = self.open(bytes_max=4_000)
        taken = 0
        while journal.append(record(taken, 100)):
            taken += 1
        self.assertGreater(taken, 25)
        self.assertGreater(len(self.segments()), 3)
        self.assertLessEqual(sum(path.stat().st_size for path in self.folder.glob("*.log")), 4_000)
        journal.settle(len(journal.peek(taken // 2, LARGE)))
        self.assertTrue(journal.append(record(taken, 100)))
        self.assertEqual(self.all_of(journal), list(range(taken // 2, taken + 1)))
        self.assertEqual(len(self.segments()), 1)
        self.assertTrue(all(journal.append(record(0, 100)) for _ in range(10)))

    def test_acks_are_bounded(self) -> None:
        journal = self.open()
        for number in range(8_000):
            journal.append(record(number))
            journal.settle(len(journal.peek(1, LARGE)))
        self.assertLess((self.folder / "acks").stat().st_size, 70_000)
        journal.close()
        self.assertEqual(self.all_of(self.open()), [])

    def test_nobody_else_may_read_it(self) -> None:
        journal = self.open()
        journal.append(record(1))
        modes = {path.stat().st_mode & 0o077 for path in self.folder.iterdir()}
        self.assertEqual(modes, {0})


class Torn(InFolder):
    def torn(self, events: int = 4) -> bytes:
        journal = self.open()
        for number in range(events):
            journal.append(record(number))
        journal.close()
        return (self.folder / self.segments()[-1]).read_bytes()

    def test_cut_at_every_byte(self) -> None:
        whole = self.torn()
        path = self.folder / self.segments()[-1]
        for length in range(len(whole) + 1):
            path.write_bytes(whole[:length])
            (self.folder / "acks").unlink()
            journal = self.open()
            journal.append(record(99))
            self.assertEqual(self.all_of(journal), [*range(whole[:length].count(b"\n")), 99], length)
            damaged, failure = journal.take_faults()
            self.assertEqual(
                (damaged, failure), (0 if whole[:length].endswith(b"\n") or not length else 1, None), length
            )
            self.assertEqual(journal.appended, journal.settled)
            journal.close()
            for left in self.folder.glob("*.log"):
                left.unlink()

    def test_acks_cut_at_every_byte(self) -> None:
        journal = self.open()
        for number in range(6):
            journal.append(record(number))
        for _ in range(3):
            journal.peek(2, LARGE)
            journal.settle(1)
        journal.close()
        acks = (self.folder / "acks").read_bytes()
        for length in range(len(acks) + 1):
            (self.folder / "acks").write_bytes(acks[:length])
            again = self.open()
            lines = acks[:length].count(b"\n")
            self.assertEqual(numbers(again.peek(50, LARGE))[0], max(lines - 1, 0), length)
            again.close()

    def test_no_damage_makes_an_event_of_what_was_none(self) -> None:
        whole = self.torn(8)
        path = self.folder / self.segments()[-1]
        draw = random.Random(7)
        for _ in range(400):
            damaged = bytearray(whole)
            for _ in range(draw.randrange(1, 4)):
                damaged[draw.randrange(len(damaged))] = draw.choice((0, 10, 13, 34, draw.randrange(256)))
            path.write_bytes(damaged)
            (self.folder / "acks").unlink()
            journal = self.open()
            found = self.all_of(journal)
            self.assertEqual(found, sorted(set(found)))
            self.assertLessEqual(set(found), set(range(8)))
            self.assertGreaterEqual(len(found), 8 - 2 * 3)
            journal.close()

    def test_a_power_loss_that_left_zeros(self) -> None:
        whole = self.torn()
        (self.folder / self.segments()[-1]).write_bytes(whole + b"\0" * 3_000_000)
        journal = self.open(bytes_max=10 * LARGE)
        journal.append(record(4))
        self.assertEqual(self.all_of(journal), [0, 1, 2, 3, 4])

    def test_what_was_acknowledged_but_never_synced_is_no_obstacle(self) -> None:
        self.torn()
        journal = self.open()
        self.assertEqual(self.all_of(journal), [0, 1, 2, 3])
        journal.close()
        path = self.folder / self.segments()[-1]
        path.write_bytes(path.read_bytes()[:20])
        again = self.open()
        again.append(record(4))
        self.assertEqual(self.all_of(again), [4])


class Faults(InFolder):
    def test_what_the_disk_does_not_take_waits_in_memory(self) -> None:
        journal = self.open(spare=2)
        journal.append(record(0))
        write = os.write

        def half(descriptor: int, data: Any) -> int:
            if len(data) < 12:
                raise OSError(28, "No space left on device")
            return write(descriptor, bytes(data)[:8])

        with mock.patch("os.write", half):
            self.assertEqual([journal.append(record(number)) for number in (1, 2, 3)], [True, True, False])
        self.assertEqual(journal.take_faults(), (0, "No space left on device"))
        with mock.patch("os.write", half):
            self.assertFalse(journal.append(record(3)))
        self.assertEqual(journal.take_faults(), (0, None), "said once")
        self.assertEqual([len(one) for one in journal.unwritten()], [len(record(1)), len(record(2))])
        journal.append(record(4))
        with mock.patch("os.write", half):
            self.assertFalse(journal.append(record(3)))
        self.assertEqual(journal.take_faults(), (0, "No space left on device"))
        self.assertEqual(self.all_of(journal), [0, 4, 1, 2])
        journal.append(record(5))
        journal.close()
        self.assertEqual(self.all_of(self.open()), [5])

    def test_an_ack_that_is_not_written_repeats_its_batch_and_no_more(self) -> None:
        journal = self.open()
        for number in range(3):
            journal.append(record(number))
        with mock.patch("os.write", side_effect=OSError(28, "No space left on device")):
            journal.peek(1, LARGE)
            journal.settle(1)
        self.assertEqual(journal.take_faults(), (0, "No space left on device"))
        journal.peek(1, LARGE)
        journal.settle(1)
        journal.close()
        self.assertEqual(self.all_of(self.open()), [2])

    def test_a_disk_that_is_full_at_the_start_holds_nothing_up(self) -> None:
        journal = self.open()
        journal.append(record(0))
        journal.close()
        with mock.patch("os.write", side_effect=OSError(28, "No space left on device")):
            again = self.open()
            self.assertEqual(self.all_of(again), [0])
        self.assertEqual(again.take_faults(), (0, "No space left on device"))
        again.append(record(1))
        again.close()
        self.assertEqual(self.all_of(self.open())[-1], 1)

    def test_a_segment_that_is_gone_holds_nothing_up(self) -> None:
        journal = self.open(bytes_max=400)
        count = 0
        while journal.append(record(count)):
            count += 1
        (self.folder / self.segments()[0]).unlink()
        found = self.all_of(journal)
        self.assertEqual(found, list(range(count - len(found), count)))
        self.assertGreater(len(found), 0)
        self.assertEqual(journal.appended, journal.settled)


class Locked(InFolder):
    def test_a_second_client_is_refused_until_the_first_has_closed(self) -> None:
        journal = self.open()
        with self.assertRaises(JournalError) as raised:
            self.open()
        self.assertEqual(raised.exception.code, "journal_in_use")
        journal.close()
        self.open().close()

    def test_the_lock_of_a_killed_process_is_taken_over(self) -> None:
        program = """
import sys
from event_ingest_client.journal import Journal
from event_ingest_client.queues import MemoryQueue
journal = Journal(sys.argv[1], 1000000, True, MemoryQueue(1, 1))
journal.append(b'{"n":7,"a":1}')
print("held", flush=True)
sys.stdin.read()
"""
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert child.stdout is not None and child.stdin is not None
        self.assertEqual(child.stdout.readline(), b"held\n")
        with self.assertRaises(JournalError):
            self.open()
        child.kill()
        child.communicate()
        self.assertEqual(self.all_of(self.open()), [7])

    def test_a_folder_that_cannot_be_one(self) -> None:
        (self.folder / "file").write_text("x")
        with self.assertRaises(JournalError) as raised:
            Journal(self.folder / "file", LARGE, True, MemoryQueue(1, 1))
        self.assertEqual(raised.exception.code, "journal_unusable")
