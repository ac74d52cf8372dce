"""Whose request it is: the shopper's address, user agent and visitor id, from WSGI, ASGI and frameworks on them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Union

#: The tag's cookie, which holds the visitor's id.
VISITOR_COOKIE = "svc_did"
_VISITOR_ID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_USER_AGENT_CHARACTERS_MAX = 1_000

#: How many proxies stand before the application (each appends the address of who called it), or their networks.
TrustProxy = Union[bool, int, Sequence[str]]


@dataclass(frozen=True)
class Shopper:
    """What a request says of its shopper; what is not known is None."""

    distinct_id: Optional[str] = None
    ip: Optional[str] = None
    user_agent: Optional[str] = None


def from_wsgi(environ: Mapping[str, Any], *, trust_proxy: TrustProxy = False) -> Shopper:
    """The shopper of a WSGI request.

    :param trust_proxy: how far ``X-Forwarded-For`` is believed, by default not at all: callers write it as they like.
    """
    forwarded = environ.get("HTTP_X_FORWARDED_FOR", "")
    return _shopper(
        environ.get("REMOTE_ADDR"),
        [forwarded],
        environ.get("HTTP_USER_AGENT"),
        [environ.get("HTTP_COOKIE")],
        trust_proxy,
    )


def from_asgi(scope: Mapping[str, Any], *, trust_proxy: TrustProxy = False) -> Shopper:
    """The shopper of an ASGI request; see from_wsgi."""
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope.get("headers", ())]

    def all_of(wanted: str) -> List[str]:
        return [value for name, value in headers if name == wanted]

    client = scope.get("client")
    agents = all_of("user-agent")
    return _shopper(
        client[0] if client else None,
        all_of("x-forwarded-for"),
        agents[0] if agents else None,
        all_of("cookie"),
        trust_proxy,
    )


def from_request(request: Any, *, trust_proxy: TrustProxy = False) -> Shopper:
    """The shopper of a request of Django, Flask, Pyramid (WSGI), Starlette or FastAPI (ASGI); see from_wsgi.

    @raises TypeError for an object that is none of these
    """
    scope = getattr(request, "scope", None)
    if isinstance(scope, Mapping) and "headers" in scope:
        return from_asgi(scope, trust_proxy=trust_proxy)
    for name in ("META", "environ"):
        environ = getattr(request, name, None)
        if isinstance(environ, Mapping):
            return from_wsgi(environ, trust_proxy=trust_proxy)
    raise TypeError(f"{type(request).__name__} is no request of Django, Flask, Starlette or the like")


def _shopper(
    peer: object, forwarded: Iterable[str], user_agent: object, cookies: Iterable[object], trust_proxy: TrustProxy
) -> Shopper:
    hops = [part for value in forwarded for part in value.split(",") if part.strip()] if trust_proxy else []
    return Shopper(_visitor_id(cookies), _client_address(peer, hops, trust_proxy), _user_agent(user_agent))


def _client_address(peer: object, hops: Sequence[str], trust_proxy: TrustProxy) -> Optional[str]:
    """The address next to the last trusted proxy, from the right: what stands left of it anybody may have written."""
    addresses = [*(_address(hop) for hop in hops), _address(peer)]
    if isinstance(trust_proxy, int):
        # A shorter chain did not come through all the proxies; its left end is the nearest that is known.
        return addresses[max(len(addresses) - 1 - trust_proxy, 0)]
    ranges = [trust_proxy] if isinstance(trust_proxy, str) else trust_proxy
    networks = [ipaddress.ip_network(network, strict=False) for network in ranges]
    for address in reversed(addresses[1:]):
        if address is None or not any(ipaddress.ip_address(address) in network for network in networks):
            return address
    return addresses[0]


def _address(text: object) -> Optional[str]:
    """An address without port and brackets; None for what is none (a Unix socket, ``unknown``)."""
    if not isinstance(text, str):
        return None
    bare = text.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].split("]")[0]
    elif bare.count(":") == 1:
        bare = bare.split(":")[0]
    try:
        address = ipaddress.ip_address(bare.split("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _visitor_id(cookies: Iterable[object]) -> Optional[str]:
    """The id as the tag makes them; None where there is none, or where two contradict each other."""
    pairs = [pair.partition("=") for header in cookies if isinstance(header, str) for pair in header.split(";")]
    ids = {value.strip() for name, _, value in pairs if name.strip() == VISITOR_COOKIE}
    return next((one for one in ids if _VISITOR_ID.match(one)), None) if len(ids) == 1 else None


def _user_agent(value: object) -> Optional[str]:
    """Without control characters: a WSGI server hands on any byte."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        return None
    return value[:_USER_AGENT_CHARACTERS_MAX]
