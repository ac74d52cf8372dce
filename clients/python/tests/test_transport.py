from __future__ import annotations

import gzip
import os
import socket
import threading
import unittest
from typing import Callable, List
from unittest import mock

from event_ingest_client.transport import HttpTransport, TransportError

OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"accepted":1}'
Handler = Callable[[socket.socket, bytes], None]


def says(answer: bytes) -> Handler:
    return lambda connection, request: connection.sendall(answer)


class Server:
    """Reads a request whole from each connection, has it handled, and closes."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.requests: List[bytes] = []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                request = self._read(connection)
                self.requests.append(request)
                try:
                    self._handle(connection, request)
                except OSError:
                    continue

    def _read(self, connection: socket.socket) -> bytes:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65536)
        head, body = request.split(b"\r\n\r\n", 1)
        lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while len(body) < int(lengths[0]):
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class OverTheNetwork(unittest.TestCase):
    def serve(self, handle: Handler) -> Server:
        server = Server(handle)
        self.addCleanup(server.close)
        return server

    def post(self, server: Server, body: bytes = b"{}", timeout: float = 30.0) -> object:
        return HttpTransport(server.url, {"X-Svc-Key": "k"})(body, timeout)

    def test_a_request(self) -> None:
        server = self.serve(says(OK))
        response = HttpTransport(server.url + "/", {"X-Svc-Key": "k", "Content-Type": "application/json"})(
            b'{"events":[]}', 30.0
        )
        self.assertEqual((response.status, response.body), (200, b'{"accepted":1}'))
        self.assertEqual(response.headers["content-type"], "application/json")
        [request] = server.requests
        head, body = request.split(b"\r\n\r\n", 1)
        self.assertTrue(head.startswith(b"POST /v1/ingest HTTP/1.1\r\n"))
        for line in (b"X-Svc-Key: k", b"Content-Type: application/json", b"Connection: close", b"Content-Length: 13"):
            self.assertIn(line, head.split(b"\r\n"))
        self.assertEqual(body, b'{"events":[]}')

    def test_large_bodies_are_compressed(self) -> None:
        server = self.serve(says(OK))
        self.post(server, b'{"events":[%s]}' % (b" " * 100_000))
        head, body = server.requests[0].split(b"\r\n\r\n", 1)
        self.assertIn(b"Content-Encoding: gzip", head)
        self.assertLess(len(body), 1000)
        self.assertEqual(len(gzip.decompress(body)), 100_013)

    def test_a_redirect_is_not_followed(self) -> None:
        elsewhere = self.serve(says(OK))
        answer = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: %s/v1/ingest\r\nContent-Length: 0\r\n\r\n"
        server = self.serve(says(answer % elsewhere.url.encode()))
        response = HttpTransport(server.url, {"X-Svc-Key": "k"})(b"{}", 30.0)
        self.assertEqual((response.status, elsewhere.requests), (307, []))

    def test_what_is_no_answer(self) -> None:
        answers = [
            b"",
            b"SMTP ready\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ]
        answers += [b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000]
        for answer in answers:
            with self.subTest(answer=answer[:40]), self.assertRaises(TransportError):
                self.post(self.serve(says(answer)))

    def test_an_answer_that_drips_ends_at_the_deadline(self) -> None:
        now = [0.0]
        dripped: List[int] = []

        def drip(connection: socket.socket, request: bytes) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            for at in range(100_000):
                dripped.append(at)
                connection.sendall(b"x")

        def later() -> float:
            now[0] += 0.5
            return now[0]

        server = self.serve(drip)
        with self.assertRaises(TransportError):
            HttpTransport(server.url, {}, monotonic=later)(b"{}", 3.0)

    def test_a_silent_service(self) -> None:
        end = threading.Event()
        self.addCleanup(end.set)

        def wait(connection: socket.socket, request: bytes) -> None:
            end.wait(30)

        with self.assertRaises(TransportError):
            self.post(self.serve(wait), timeout=0.05)

    def test_nobody_listens(self) -> None:
        server = Server(says(OK))
        server.close()
        with self.assertRaises(TransportError) as raised:
            self.post(server)
        self.assertIn("refused", str(raised.exception))

    def test_an_endless_answer_is_cut(self) -> None:
        server = self.serve(says(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 3_000_000))
        response = HttpTransport(server.url, {})(b"{}", 30.0)
        self.assertEqual(len(response.body), 1024 * 1024)

    def test_a_proxy_of_the_environment(self) -> None:
        proxy = self.serve(says(OK))
        named = proxy.url.replace("//", "//user:p%40ss@")
        with mock.patch.dict(os.environ, {"http_proxy": named, "no_proxy": "", "NO_PROXY": ""}):
            HttpTransport("http://events.shop.example:8080", {"X-Svc-Key": "k"})(b"{}", 30.0)
        head = proxy.requests[0]
        self.assertTrue(head.startswith(b"POST http://events.shop.example:8080/v1/ingest HTTP/1.1\r\n"))
        self.assertIn(b"\r\nHost: events.shop.example:8080\r\n", head)
        self.assertIn(b"\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n", head)

    def test_through_a_proxy_the_key_is_not_shown_to_it(self) -> None:
        seen: List[bytes] = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                seen.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        named = f"127.0.0.1:{listener.getsockname()[1]}"
        with mock.patch.dict(os.environ, {"https_proxy": named, "no_proxy": "", "NO_PROXY": ""}):
            with self.assertRaises(TransportError):
                HttpTransport("https://events.shop.example", {"X-Svc-Key": "k"})(b"{}", 30.0)
        thread.join()
        self.assertTrue(seen[0].startswith(b"CONNECT events.shop.example:443 "))
        self.assertNotIn(b"X-Svc-Key", seen[0])
