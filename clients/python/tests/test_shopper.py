from __future__ import annotations

import unittest
from typing import Any, Dict, List, Tuple

from event_ingest_client import Shopper, from_asgi, from_request, from_wsgi

VISITOR = "0199c0de-0000-7000-8000-000000000001"
OTHER = "0199c0de-0000-7000-8000-000000000002"


def environ(**given: str) -> Dict[str, Any]:
    return {"REMOTE_ADDR": "10.0.0.7", "HTTP_USER_AGENT": "Firefox", "HTTP_COOKIE": f"a=b; svc_did={VISITOR}", **given}


def scope(*headers: Tuple[str, str]) -> Dict[str, Any]:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return {"type": "http", "client": ("10.0.0.7", 4711), "headers": raw}


class Request:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class FromRequests(unittest.TestCase):
    def test_every_kind_of_request_says_the_same(self) -> None:
        an_environ, a_scope = (
            environ(),
            scope(("user-agent", "Firefox"), ("cookie", "a=b"), ("cookie", f"svc_did={VISITOR}")),
        )
        shopper = Shopper(VISITOR, "10.0.0.7", "Firefox")
        self.assertEqual(from_wsgi(an_environ), shopper)
        self.assertEqual(from_asgi(a_scope), shopper)
        self.assertEqual(from_request(Request(META=an_environ)), shopper)
        self.assertEqual(from_request(Request(environ=an_environ)), shopper)
        self.assertEqual(from_request(Request(scope=a_scope)), shopper)
        # Django under ASGI has both.
        self.assertEqual(from_request(Request(META=an_environ, scope=a_scope)), shopper)
        with self.assertRaises(TypeError):
            from_request(object())

    def test_what_a_request_does_not_say(self) -> None:
        self.assertEqual(from_wsgi({}), Shopper(None, None, None))
        self.assertEqual(from_asgi({"type": "http", "client": None}), Shopper(None, None, None))
        self.assertEqual(
            from_wsgi({"REMOTE_ADDR": "unix:/run/app.sock", "HTTP_USER_AGENT": " "}), Shopper(None, None, None)
        )

    def test_cookies(self) -> None:
        for cookie, visitor in [
            (f"svc_did={VISITOR}", VISITOR),
            (f"x=1;svc_did={VISITOR};y=2", VISITOR),
            (f"svc_did={VISITOR}; svc_did={VISITOR}", VISITOR),
            (f"svc_did={VISITOR}; svc_did={OTHER}", None),
            (f"xsvc_did={VISITOR}", None),
            ("svc_did=jane@example.com", None),
            ("svc_did=", None),
            (f"svc_did={VISITOR}\n", VISITOR),
            (f"svc_did={VISITOR.upper()}", None),
            ("", None),
        ]:
            with self.subTest(cookie=cookie):
                self.assertEqual(from_wsgi(environ(HTTP_COOKIE=cookie)).distinct_id, visitor)

    def test_user_agents(self) -> None:
        self.assertIsNone(from_wsgi(environ(HTTP_USER_AGENT="a\x00b")).user_agent)
        self.assertEqual(len(str(from_wsgi(environ(HTTP_USER_AGENT="x" * 5000)).user_agent)), 1000)


class Addresses(unittest.TestCase):
    def test_nobody_is_believed_by_default(self) -> None:
        forged = environ(HTTP_X_FORWARDED_FOR="203.0.113.9")
        self.assertEqual(from_wsgi(forged).ip, "10.0.0.7")
        self.assertEqual(from_asgi(scope(("x-forwarded-for", "203.0.113.9"))).ip, "10.0.0.7")
        self.assertEqual(from_request(Request(META=forged)).ip, "10.0.0.7")

    def test_proxies_by_their_number(self) -> None:
        forged = "198.51.100.66, 203.0.113.9, 10.0.0.8"
        for trusted, ip in [
            (0, "10.0.0.7"),
            (1, "10.0.0.8"),
            (True, "10.0.0.8"),
            (2, "203.0.113.9"),
            (9, "198.51.100.66"),
        ]:
            self.assertEqual(from_wsgi(environ(HTTP_X_FORWARDED_FOR=forged), trust_proxy=trusted).ip, ip)
        self.assertEqual(from_wsgi(environ(), trust_proxy=1).ip, "10.0.0.7")
        lines: List[Tuple[str, str]] = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "10.0.0.8")]
        self.assertEqual(from_asgi(scope(*lines), trust_proxy=2).ip, "203.0.113.9")

    def test_proxies_by_their_networks(self) -> None:
        forged = environ(HTTP_X_FORWARDED_FOR="198.51.100.66, 203.0.113.9, 10.0.0.8")
        self.assertEqual(from_wsgi(forged, trust_proxy=["10.0.0.0/8"]).ip, "203.0.113.9")
        self.assertEqual(from_wsgi(forged, trust_proxy="10.0.0.0/8").ip, "203.0.113.9")
        self.assertEqual(from_wsgi(forged, trust_proxy=["192.0.2.0/24"]).ip, "10.0.0.7")
        inside = environ(HTTP_X_FORWARDED_FOR="10.1.1.1")
        self.assertEqual(from_wsgi(inside, trust_proxy=["10.0.0.0/8"]).ip, "10.1.1.1")

    def test_how_addresses_are_written(self) -> None:
        for written, ip in [
            ("203.0.113.9:4711", "203.0.113.9"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ('"[2001:db8::1]"', "2001:db8::1"),
            ("2001:DB8::1", "2001:db8::1"),
            ("::ffff:203.0.113.9", "203.0.113.9"),
            ("fe80::1%eth0", "fe80::1"),
            ("unknown", None),
            ("999.1.1.1", None),
            ("jane@example.com", None),
        ]:
            with self.subTest(written=written):
                self.assertEqual(from_wsgi(environ(HTTP_X_FORWARDED_FOR=written), trust_proxy=1).ip, ip)
