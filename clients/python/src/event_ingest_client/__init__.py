"""Client of the event ingest service for servers, points of sale and back offices. See README.md."""

from .client import VERSION as __version__
from .client import Client, Ports
from .events import Event, EventName, Item, OfflineSource, Properties
from .journal import JournalError
from .reports import DeliveryError, DroppedEvents, RejectedEvent
from .shopper import Shopper, from_asgi, from_request, from_wsgi

__all__ = [
    "Client",
    "DeliveryError",
    "DroppedEvents",
    "Event",
    "EventName",
    "Item",
    "JournalError",
    "OfflineSource",
    "Ports",
    "Properties",
    "RejectedEvent",
    "Shopper",
    "__version__",
    "from_asgi",
    "from_request",
    "from_wsgi",
]
