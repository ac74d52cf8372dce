"""Tracks events as its argument says, and prints what becomes of each: a word, the event's number and its id.

``try`` before an event is tracked, ``tracked`` behind it; ``rejected`` and ``dropped`` for what is not stored;
``error`` with its code and whether it is tried again; ``end`` with whether everything is settled.
"""

import datetime
import json
import os
import random
import sys
import time
from typing import Any, Mapping, Sequence

from event_ingest_client import Client, Ports

work = json.loads(sys.argv[1])
chance = random.SystemRandom()
OLD = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
ROBOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"


def say(*words: object) -> None:
    # At once and whole, as two threads speak.
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def say_each(word: str, events: Sequence[Mapping[str, Any]]) -> None:
    for event in events:
        say(word, event["properties"]["at"], event["uuid"])


client = Client(
    work["url"],
    work["key"],
    journal=work.get("journal"),
    timeout=2.0,
    flush_interval=0.05,
    on_rejected=lambda told: say_each(f"rejected:{told.code}", [told.event]),
    on_dropped=lambda told: say_each(f"dropped:{told.reason}", told.events),
    on_error=lambda told: say("error", told.code, "again" if told.will_retry else "never"),
    # Patience that fits a test.
    ports=Ports(
        uniform=lambda low, high: chance.uniform(low, min(high, 0.2)),
        wall=lambda: time.time() + work.get("clock_off", 0),
    ),
)
for at in range(work["first"], work["last"]):
    # A caller that gives the queue time, as one that is full takes nothing.
    if client.pending >= 5_000:
        client.flush(None)
    say("try", at)
    odd = at % 1000
    event: Any = {"event": "Seen", "distinct_id": f"visitor-{at % 500}", "properties": {"at": at}}
    if work.get("odd") and odd == 7:
        event["timestamp"] = OLD
    if work.get("odd") and odd == 77:
        event["properties"]["client_user_agent"] = ROBOT
    say("tracked", at, client.track(event))
    if at % work["heard_every"] == 0:
        # Whoever kills it at a line is to have read it.
        sys.stdin.readline()
say("end", client.shutdown(work.get("deadline", 600)))
