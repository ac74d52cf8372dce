"""A service, a clock and chance that tests hold in their hands."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from event_ingest_client import Client, Ports
from event_ingest_client.answers import Response
from event_ingest_client.transport import Transport, TransportError

KEY = "svc_sk_" + "a" * 32
Answer = Union[Response, TransportError, Callable[[List[Dict[str, Any]]], Response]]


def answer(status: int, body: object, **headers: str) -> Response:
    return Response(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode()
    )


def error(status: int, code: str, **headers: str) -> Response:
    return answer(status, {"error": {"code": code, "message": "m"}}, **headers)


def accept_all(events: Sequence[object]) -> Response:
    return answer(200, {"accepted": len(events)})


class Service:
    """Answers each request with the next of the given answers, and then accepts whatever comes."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: List[Dict[str, Any]] = []
        self.accepted: List[Dict[str, Any]] = []
        self.changed = threading.Condition()

    def __call__(self, body: bytes, timeout: float) -> Response:
        sent = json.loads(body)
        with self.changed:
            self.requests.append(sent)
            following: Answer = self._answers.pop(0) if self._answers else accept_all
            self.changed.notify_all()
        if isinstance(following, TransportError):
            raise following
        response = following if isinstance(following, Response) else following(sent["events"])
        if response.status == 200 and b"accepted" in response.body:
            self.accepted.extend(sent["events"])
        return response


class Reports:
    """What the callbacks were told."""

    def __init__(self) -> None:
        self.rejected: List[Any] = []
        self.dropped: List[Any] = []
        self.errors: List[Any] = []

    def callbacks(self) -> Dict[str, Any]:
        return {"on_rejected": self.rejected.append, "on_dropped": self.dropped.append, "on_error": self.errors.append}


def client(service: Transport, reports: Optional[Reports] = None, **options: Any) -> Client:
    """A client that draws no pause, so that what is tried again is tried at once."""
    ports = Ports(transport=service, uniform=lambda low, high: 0.0, wall=lambda: 1_795_168_800.0)
    told: Mapping[str, Any] = (reports or Reports()).callbacks()
    given = {"flush_at_exit": None, "flush_interval": 3600.0, "ports": ports, **told, **options}
    return Client("http://127.0.0.1:1", KEY, **given)
