from __future__ import annotations

import gc
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref
from typing import Any, Dict, List

from event_ingest_client import Client, JournalError, Ports, Shopper
from event_ingest_client.answers import Response
from event_ingest_client.transport import TransportError

from .fakes import KEY, Answer, Reports, Service, answer, client, error

UUID7 = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
PURCHASE: Any = {"event": "purchase", "properties": {"value": 12.5, "currency": "EUR"}}


class Held(Service):
    """A service that answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived = threading.Event()
        self.let = threading.Event()
        self.addressed = 0

    def __call__(self, body: bytes, timeout: float) -> Response:
        self.addressed += 1
        self.arrived.set()
        self.let.wait(30)
        return super().__call__(body, timeout)


class Track(unittest.TestCase):
    def test_events_go_in_batches_with_ids_and_times(self) -> None:
        service = Service()
        with client(service) as one:
            ids = [one.track({"event": "e", "properties": {"n": n}}) for n in range(120)]
            self.assertTrue(one.flush())
        self.assertEqual([len(sent["events"]) for sent in service.requests][-1], 20)
        self.assertEqual([event["uuid"] for event in service.accepted], ids)
        self.assertEqual([event["properties"]["n"] for event in service.accepted], list(range(120)))
        self.assertTrue(all(UUID7.match(str(an_id)) for an_id in ids))
        self.assertEqual(service.requests[0]["sent_at"], 1_795_168_800_000)
        self.assertEqual({event["timestamp"] for event in service.accepted}, {"2026-11-20T10:00:00.000Z"})

    def test_fifty_events_leave_by_themselves(self) -> None:
        service = Service()
        one = client(service)
        for _ in range(50):
            one.track({"event": "e"})
        with service.changed:
            self.assertTrue(service.changed.wait_for(lambda: len(service.requests) == 1, 30))
        one.shutdown()

    def test_time_passes(self) -> None:
        service = Service()
        one = client(service, flush_interval=0.001)
        one.track({"event": "e"})
        with service.changed:
            self.assertTrue(service.changed.wait_for(lambda: len(service.requests) == 1, 30))
        one.shutdown()

    def test_what_changes_later_was_sent_as_it_was(self) -> None:
        service = Service()
        properties: Dict[str, Any] = {"n": 1}
        with client(service) as one:
            one.track({"event": "e", "properties": properties})
            properties["n"] = 2
        self.assertEqual(service.accepted[0]["properties"], {"n": 1})

    def test_a_retry_is_the_same_event(self) -> None:
        page = Response(200, {}, b"<html>Welcome to the airport</html>")
        troubles: List[Answer] = [
            TransportError("reset"),
            page,
            error(503, "overloaded"),
            error(429, "rate_limited"),
            Response(302, {}, b""),
        ]
        service, reports = Service(*troubles), Reports()
        with client(service, reports) as one:
            one.track(PURCHASE)
            self.assertTrue(one.flush())
        self.assertEqual(len(service.requests), 6)
        self.assertEqual(len({str(sent["events"]) for sent in service.requests}), 1)
        codes = [one.code for one in reports.errors]
        self.assertEqual(codes, ["network_failed", "answer_foreign", "overloaded", "rate_limited", "answer_foreign"])
        self.assertTrue(all(one.will_retry for one in reports.errors))

    def test_a_bad_event_harms_no_other(self) -> None:
        service, reports = Service(), Reports()
        with client(service, reports) as one:
            bad = one.track({"event": "e", "properties": {"value": float("nan")}})
            good = one.track(PURCHASE)
        self.assertIsNone(bad)
        self.assertEqual([event["uuid"] for event in service.accepted], [good])
        self.assertEqual(
            [(one.code, one.event["event"]) for one in reports.rejected], [("event_not_serialisable", "e")]
        )

    def test_what_the_service_says_of_events_is_told(self) -> None:
        body = {"accepted": 1, "rejected": [{"index": 0, "code": "timestamp_too_old", "message": "m"}], "dropped": 1}
        service, reports = Service(answer(200, body)), Reports()
        with client(service, reports) as one:
            ids = [one.track({"event": "e"}) for _ in range(3)]
        self.assertEqual([(one.event["uuid"], one.code) for one in reports.rejected], [(ids[0], "timestamp_too_old")])
        self.assertEqual(
            [(one.reason, [e["uuid"] for e in one.events]) for one in reports.dropped], [("quota", [ids[2]])]
        )

    def test_a_refused_key_is_not_tried_again(self) -> None:
        service, reports = Service(error(403, "key_revoked")), Reports()
        with client(service, reports) as one:
            an_id = one.track(PURCHASE)
            self.assertTrue(one.flush())
        self.assertEqual(len(service.requests), 1)
        [told] = reports.errors
        self.assertEqual(
            (told.code, told.status, told.will_retry, told.events[0]["uuid"]), ("key_revoked", 403, False, an_id)
        )

    def test_a_full_queue_says_so(self) -> None:
        service, reports = Held(), Reports()
        one = client(service, reports, queue_events=2)
        taken = [one.track({"event": "e", "properties": {"n": n}}) for n in range(3)]
        self.assertEqual([an_id is not None for an_id in taken], [True, True, False])
        self.assertEqual(
            [(told.reason, told.events[0]["properties"]["n"]) for told in reports.dropped], [("queue_full", 2)]
        )
        service.let.set()
        self.assertTrue(one.shutdown())

    def test_callbacks_that_raise(self) -> None:
        def fail(told: object) -> None:
            raise RuntimeError("of the program")

        service = Service(error(503, "overloaded"))
        with self.assertLogs("event_ingest_client", logging.ERROR) as logs:
            with client(service, on_error=fail, on_rejected=fail, on_dropped=fail) as one:
                one.track({"event": ""})
                one.track(PURCHASE)
                self.assertTrue(one.flush())
        self.assertEqual(len(service.accepted), 1)
        self.assertEqual(len(logs.records), 2)

    def test_without_callbacks_it_is_logged_without_the_event(self) -> None:
        body = {"accepted": 0, "rejected": [{"index": 0, "code": "timestamp_too_old", "message": "m"}], "dropped": 1}
        service = Service(error(503, "overloaded"), answer(200, body))
        silent = {"on_rejected": None, "on_dropped": None, "on_error": None}
        with self.assertLogs("event_ingest_client", logging.WARNING) as logs:
            with client(service, **silent) as one:
                an_id = one.track({"event": "e", "properties": {"email": "jane@example.com"}})
                one.track({"event": "e", "properties": {"email": "jane@example.com", "bad": object()}})
                one.track({"event": "e", "properties": {"email": "jane@example.com"}})
        text = "\n".join(logs.output)
        self.assertNotIn("jane", text)
        for word in (str(an_id), "timestamp_too_old", "quota", "overloaded", "event_not_serialisable"):
            self.assertIn(word, text)

    def test_callbacks_may_call_the_client(self) -> None:
        service = Service(error(403, "key_revoked"))
        told: List[Any] = []

        def again(trouble: object) -> None:
            told.append((one.flush(), one.track({"event": "again"})))

        one: Client = client(service, on_error=again)
        one.track(PURCHASE)
        self.assertTrue(one.flush())
        self.assertTrue(one.shutdown())
        self.assertEqual(told[0][0], False)
        self.assertEqual([event["uuid"] for event in service.accepted], [told[0][1]])

    def test_many_threads(self) -> None:
        service = Service(*[TransportError("reset") for _ in range(20)])
        one = client(service)

        def work(thread: int) -> None:
            for n in range(500):
                one.track({"event": "e", "properties": {"thread": thread, "n": n}})

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(one.shutdown())
        self.assertEqual(len({event["uuid"] for event in service.accepted}), 4000)
        self.assertEqual(len(service.accepted), 4000)


class Words(unittest.TestCase):
    def sent(self, call: Any) -> Dict[str, Any]:
        service = Service()
        with client(service) as one:
            call(one)
        [event] = service.accepted
        return {name: value for name, value in event.items() if name not in ("uuid", "timestamp")}

    def test_the_shopper_fills_in_what_the_event_does_not_say(self) -> None:
        shopper = Shopper("visitor-1", "203.0.113.9", "Firefox")
        sent = self.sent(lambda one: one.track({"event": "e"}, shopper))
        said = {"client_ip_address": "203.0.113.9", "client_user_agent": "Firefox"}
        self.assertEqual(sent, {"event": "e", "distinct_id": "visitor-1", "properties": said})
        own: Any = {"event": "e", "distinct_id": "d", "properties": {"client_ip_address": "198.51.100.1"}}
        sent = self.sent(lambda one: one.track(own, shopper))
        self.assertEqual((sent["distinct_id"], sent["properties"]["client_ip_address"]), ("d", "198.51.100.1"))

    def test_identify(self) -> None:
        shopper = Shopper("visitor-1", None, None)
        sent = self.sent(lambda one: one.identify("customer-1", {"email": "me@example.com"}, shopper))
        properties = {"email": "me@example.com", "$anon_distinct_id": "visitor-1"}
        self.assertEqual(sent, {"event": "$identify", "distinct_id": "customer-1", "properties": properties})
        self.assertNotIn("$anon_distinct_id", str(self.sent(lambda one: one.identify("visitor-1", {}, shopper))))

    def test_offline(self) -> None:
        sent = self.sent(lambda one: one.track_offline({"event": "purchase"}, "phone_call"))
        self.assertEqual(sent["properties"], {"$action_source": "phone_call"})
        given = {"event": "purchase", "properties": {"$action_source": "chat", "value": 1}}
        self.assertEqual(
            self.sent(lambda one: one.track_offline(given, "email"))["properties"]["$action_source"], "chat"
        )

    def test_offline_from_nowhere(self) -> None:
        reports = Reports()
        with client(Service(), reports) as one:
            self.assertIsNone(one.track_offline({"event": "purchase"}))
            self.assertIsNone(one.track_offline({"event": "purchase"}, "website"))  # type: ignore[arg-type]
            self.assertIsNone(one.track_offline(None, "chat"))  # type: ignore[arg-type]
        self.assertEqual([told.code for told in reports.rejected], ["action_source_invalid"] * 2 + ["event_not_object"])

    def test_mistakes_of_set_up_are_raised(self) -> None:
        for url, key in [
            ("", KEY),
            ("ftp://x", KEY),
            ("https://u@x", KEY),
            ("https://x", "svc_pk_" + "a" * 32),
            ("https://x", ""),
            ("https://x", KEY + "\n"),
            ("https://x", None),
            ("https://x:port", KEY),
            (None, KEY),
        ]:
            with self.assertRaises(ValueError):
                Client(url, key)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            Client("https://x", KEY, journal="")
        with self.assertRaises(ValueError):
            Client("https://x", KEY, queue_events=0)

    def test_the_key_is_not_shown(self) -> None:
        with client(Service()) as one:
            self.assertNotIn("svc_sk_", repr(one))
        with self.assertLogs("event_ingest_client", logging.WARNING) as logs:
            Client("http://events.shop.example", KEY, flush_at_exit=None)
        self.assertNotIn("svc_sk_", str(logs.output))


class Ends(unittest.TestCase):
    def test_shutdown_hands_back_what_is_left(self) -> None:
        service, reports = Held(), Reports()
        one = client(service, reports)
        ids = [one.track({"event": "e"}) for _ in range(60)]
        self.assertTrue(service.arrived.wait(30))
        self.assertFalse(one.shutdown(0.0))
        [told] = reports.dropped
        self.assertEqual((told.reason, told.count, [event["uuid"] for event in told.events]), ("shutdown", 60, ids))
        service.let.set()
        self.assertIsNone(one.track({"event": "late"}))
        self.assertEqual(reports.dropped[1].reason, "client_closed")
        self.assertFalse(one.shutdown())
        self.assertEqual(len(reports.dropped), 2)

    def test_shutdown_does_not_wait_for_a_pause_of_its_own(self) -> None:
        service, failed = Service(TransportError("reset")), threading.Event()
        ports = Ports(transport=service, uniform=lambda low, high: 3600.0)
        one = client(service, ports=ports, on_error=lambda told: failed.set(), flush_interval=0.001)
        one.track(PURCHASE)
        self.assertTrue(failed.wait(30))
        self.assertTrue(one.shutdown(30))
        self.assertEqual(len(service.accepted), 1)

    def test_flush_ends_at_its_timeout(self) -> None:
        service = Held()
        one = client(service)
        one.track(PURCHASE)
        self.assertFalse(one.flush(0.0))
        service.let.set()
        self.assertTrue(one.flush())
        self.assertEqual(one.pending, 0)
        self.assertTrue(one.shutdown())

    def test_where_no_thread_can_be_had(self) -> None:
        service = Service()
        one = client(service)
        start = threading.Thread.start

        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't create new thread at interpreter shutdown")

        threading.Thread.start = refuse  # type: ignore[method-assign, assignment]
        try:
            one.track(PURCHASE)
            self.assertTrue(one.flush())
            one.track(PURCHASE)
            self.assertTrue(one.shutdown())
        finally:
            threading.Thread.start = start  # type: ignore[method-assign]
        self.assertEqual(len(service.accepted), 2)

    def test_a_client_that_was_shut_down_is_not_kept(self) -> None:
        one = client(Service(), flush_at_exit=1.0)
        one.track(PURCHASE)
        thread = one._thread
        one.shutdown()
        assert thread is not None
        thread.join(30)
        gone = weakref.ref(one)
        del one, thread
        gc.collect()
        self.assertIsNone(gone())


class WithJournal(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="journal-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_what_was_not_sent_goes_out_with_the_next_client(self) -> None:
        service, reports = Held(), Reports()
        one = client(service, reports, journal=self.folder)
        ids = [one.track({"event": "e"}) for _ in range(60)]
        self.assertFalse(one.shutdown(0.0))
        service.let.set()
        self.assertEqual(reports.dropped, [])
        later = Service()
        with client(later, journal=self.folder) as another:
            self.assertTrue(another.flush())
        self.assertEqual([event["uuid"] for event in later.accepted], ids)
        last = Service()
        with client(last, journal=self.folder) as another:
            self.assertTrue(another.flush())
        self.assertEqual(last.requests, [])

    def test_a_refused_key_costs_nothing(self) -> None:
        service, reports = Service(error(401, "key_unknown")), Reports()
        one = client(service, reports, journal=self.folder)
        an_id = one.track(PURCHASE)
        # Nobody waits for what cannot come before the end.
        self.assertFalse(one.shutdown(100.0))
        self.assertEqual([(told.code, told.will_retry) for told in reports.errors], [("key_unknown", True)])
        later = Service()
        with client(later, journal=self.folder) as another:
            self.assertTrue(another.flush())
        self.assertEqual([event["uuid"] for event in later.accepted], [an_id])

    def test_two_clients_refuse_each_other(self) -> None:
        with client(Service(), journal=self.folder):
            with self.assertRaises(JournalError):
                client(Service(), journal=self.folder)

    def test_damage_is_told(self) -> None:
        with open(os.path.join(self.folder, "0000000000000001.log"), "wb") as file:
            file.write(b"00000000 {}\n")
        service, reports = Service(), Reports()
        with client(service, reports, journal=self.folder) as one:
            self.assertTrue(one.flush())
        self.assertEqual([told.code for told in reports.errors], ["journal_damaged"])
        self.assertEqual(service.requests, [])


def in_child(work: Any) -> List[str]:
    """What a function says in a forked process."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(readable)
        try:
            said = work()
        except BaseException as trouble:
            said = [f"{type(trouble).__name__}: {trouble}"]
        os.write(writable, "\n".join(said).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return text.split("\n")


class Forked(unittest.TestCase):
    def test_a_child_sends_its_own_events_and_the_parent_the_others(self) -> None:
        service = Service()
        one = client(service)
        parents = one.track({"event": "parent"})

        def work() -> List[str]:
            before = one.pending
            one.track({"event": "child"})
            return [str(before), str(one.flush(30)), *(event["event"] for event in service.accepted)]

        self.assertEqual(in_child(work), ["0", "True", "child"])
        self.assertTrue(one.shutdown())
        self.assertEqual([event["uuid"] for event in service.accepted], [parents])

    def test_a_fork_while_another_thread_holds_the_lock(self) -> None:
        service = Service()
        one = client(service)
        held, let = threading.Event(), threading.Event()

        def hold() -> None:
            with one._changed:
                held.set()
                let.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(30)
        said = in_child(lambda: [str(one.track({"event": "child"}) is not None), str(one.shutdown(30))])
        let.set()
        holder.join()
        self.assertEqual(said, ["True", "True"])

    def test_a_fork_that_python_was_not_told_of(self) -> None:
        service = Service()
        one = client(service)
        one.track({"event": "parent"})
        one._pid -= 1
        one.track({"event": "child"})
        self.assertTrue(one.shutdown())
        self.assertEqual([event["event"] for event in service.accepted][-1], "child")

    def test_ids_of_children_differ(self) -> None:
        one = client(Service())
        ids = [line for _ in range(3) for line in in_child(lambda: [str(one.track({"event": "e"})) for _ in range(20)])]
        self.assertEqual(len(set(ids)), 60)

    def test_the_journal_stays_the_parents(self) -> None:
        folder = tempfile.mkdtemp(prefix="journal-")
        self.addCleanup(shutil.rmtree, folder)
        service, reports = Service(), Reports()
        one = client(service, reports, journal=folder)

        def work() -> List[str]:
            one.track({"event": "child"})
            one.track({"event": "child"})
            return [str(one.shutdown(30)), *(told.code for told in reports.errors), str(len(service.accepted))]

        self.assertEqual(in_child(work), ["True", "journal_in_use", "2"])
        with self.assertRaises(JournalError):
            client(Service(), journal=folder)
        one.track({"event": "parent"})
        self.assertTrue(one.shutdown())
        self.assertEqual([event["event"] for event in service.accepted], ["parent"])


PROGRAM = """
import atexit, sys
from event_ingest_client import Client, Ports
from event_ingest_client.answers import Response
def transport(body, timeout):
    print(body.decode(), flush=True)
    return Response(200, {}, b'{"accepted":1}')
%s
client = Client("http://127.0.0.1:1", "svc_sk_" + "a" * 32, flush_interval=3600, ports=Ports(transport=transport), %s)
%s
"""


class AtExit(unittest.TestCase):
    def output_of(self, before: str, options: str, after: str) -> str:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        program = PROGRAM % (before, options, after)
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60, check=True
        )
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_the_end_of_a_program_sends_the_rest(self) -> None:
        self.assertIn("sale", self.output_of("", "", 'client.track({"event": "sale"})'))

    def test_what_is_tracked_at_the_very_end_goes_too(self) -> None:
        after = 'atexit.register(lambda: client.track({"event": "sale"}))'
        self.assertIn("sale", self.output_of("", "", after))

    def test_it_can_be_switched_off(self) -> None:
        self.assertEqual(self.output_of("", "flush_at_exit=None", 'client.track({"event": "sale"})'), "")
