"""UUIDs of version 7 (RFC 9562): sorted by the millisecond in which they were made."""

from __future__ import annotations

import os
from typing import Callable


def uuid7(now_ms: int, random_bytes: Callable[[int], bytes] = os.urandom) -> str:
    """A new id. All but the time is random, so that processes that were forked from one make different ones."""
    random = int.from_bytes(random_bytes(10), "big")
    number = (now_ms & (1 << 48) - 1) << 80 | random
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
