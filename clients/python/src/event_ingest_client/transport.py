"""One HTTP request on a connection of its own.

An answer can then only be that of its request, whatever a proxy repeats, and no connection is shared by forked
processes. Redirects are not followed: the key would go with them.
"""

from __future__ import annotations

import base64
import gzip
import http.client
import io
import socket
import ssl
import time
import urllib.parse
import urllib.request
from typing import Callable, Dict, Optional, Protocol

from .answers import Response

_ANSWER_BYTES_MAX = 1024 * 1024
_GZIP_BYTES_MIN = 1024


class TransportError(Exception):
    """No answer came. The events may have arrived all the same."""


class Transport(Protocol):
    """Posts a body and returns the answer within ``timeout`` seconds.

    @raises TransportError
    """

    def __call__(self, body: bytes, timeout: float) -> Response: ...


class HttpTransport:
    """Posts to the service's ingest route, by the proxy that the environment names (``HTTPS_PROXY``, ``NO_PROXY``)."""

    def __init__(
        self,
        url: str,
        headers: Dict[str, str],
        ssl_context: Optional[ssl.SSLContext] = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = urllib.parse.urlsplit(url.rstrip("/") + "/v1/ingest")
        self._headers = headers
        self._ssl_context = ssl_context
        self._monotonic = monotonic

    def __call__(self, body: bytes, timeout: float) -> Response:
        deadline = self._monotonic() + timeout
        try:
            connection, target = self._connection(timeout)
            try:
                return self._exchange(connection, target, body, deadline)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, ValueError) as error:
            # Of the error only its kind: its text may name what was sent.
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise TransportError(str(reason)) from error

    def _connection(self, timeout: float) -> "tuple[http.client.HTTPConnection, str]":
        url = self._url
        host = url.hostname or ""
        proxy = _proxy_of(url.scheme, host)
        if url.scheme == "https":
            if self._ssl_context is None:
                self._ssl_context = ssl.create_default_context()
            if proxy is None:
                return http.client.HTTPSConnection(host, url.port, timeout=timeout, context=self._ssl_context), url.path
            tunnel = http.client.HTTPSConnection(
                proxy.hostname or "", proxy.port or 80, timeout=timeout, context=self._ssl_context
            )
            tunnel.set_tunnel(host, url.port or 443, _proxy_headers(proxy))
            return tunnel, url.path
        if proxy is None:
            return http.client.HTTPConnection(host, url.port, timeout=timeout), url.path
        return http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=timeout), url.geturl()

    def _exchange(self, connection: http.client.HTTPConnection, target: str, body: bytes, deadline: float) -> Response:
        headers = {**self._headers, "Connection": "close"}
        if len(body) > _GZIP_BYTES_MIN:
            body = gzip.compress(body, 6)
            headers["Content-Encoding"] = "gzip"
        proxy = None if self._url.scheme == "https" else _proxy_of(self._url.scheme, self._url.hostname or "")
        if proxy is not None:
            headers.update(_proxy_headers(proxy))
        connection.connect()
        raw = connection.sock
        try:
            raw.settimeout(max(deadline - self._monotonic(), 0.001))
            connection.request("POST", target, body, headers)
            # http.client only reads from what makefile() gives it.
            connection.sock = _DeadlineSocket(raw, deadline, self._monotonic)
            with connection.getresponse() as answer:
                content = answer.read(_ANSWER_BYTES_MAX)
        finally:
            raw.close()
        return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, content)


class _DeadlineSocket:
    """A socket whose reads end at a deadline: its own timeout begins anew with each byte that comes."""

    def __init__(self, raw: socket.socket, deadline: float, monotonic: Callable[[], float]) -> None:
        self._raw = raw
        self._deadline = deadline
        self._monotonic = monotonic

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self._raw, self._deadline, self._monotonic))

    def close(self) -> None:
        """The reader goes on until the answer is read."""


class _DeadlineReader(io.RawIOBase):
    def __init__(self, raw: socket.socket, deadline: float, monotonic: Callable[[], float]) -> None:
        self._raw = raw
        self._deadline = deadline
        self._monotonic = monotonic

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        left = self._deadline - self._monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._raw.settimeout(left)
        return self._raw.recv_into(buffer)


def _proxy_of(scheme: str, host: str) -> Optional[urllib.parse.SplitResult]:
    named = urllib.request.getproxies().get(scheme)
    if not named or urllib.request.proxy_bypass(host):
        return None
    return urllib.parse.urlsplit(named if "//" in named else f"http://{named}")


def _proxy_headers(proxy: urllib.parse.SplitResult) -> Dict[str, str]:
    if proxy.username is None:
        return {}
    user, password = urllib.parse.unquote(proxy.username), urllib.parse.unquote(proxy.password or "")
    return {"Proxy-Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}
