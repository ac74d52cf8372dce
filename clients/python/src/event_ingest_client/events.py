"""What an event may hold, as types. Every other property is kept as it is."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, List, Literal, Mapping, TypedDict, Union

#: The conversions that the service and the platforms know, each also under the names of other products.
ConversionName = Literal[
    "page_view",
    "view_item",
    "view_item_list",
    "search",
    "add_to_cart",
    "add_to_wishlist",
    "begin_checkout",
    "add_payment_info",
    "purchase",
    "refund",
    "generate_lead",
    "sign_up",
    "subscribe",
    "start_trial",
    "contact",
    "schedule",
    "find_location",
    "customize_product",
    "download",
    "donate",
    "submit_application",
]
EventName = Union[ConversionName, str]

#: Where a conversion without a browser happened.
OfflineSource = Literal["physical_store", "phone_call", "chat", "email", "system_generated"]
OFFLINE_SOURCES = ("physical_store", "phone_call", "chat", "email", "system_generated")

Amount = Union[int, float, decimal.Decimal]


class Item(TypedDict, total=False):
    """An article of an order or a cart."""

    item_id: str
    item_name: str
    item_category: str
    item_brand: str
    item_variant: str
    price: Amount
    quantity: int


class Properties(TypedDict, total=False):
    """The properties that mean something to the service. Identifiers are hashed there before they are stored."""

    value: Amount
    currency: str
    items: List[Item]
    order_id: str
    email: str
    phone: str
    first_name: str
    last_name: str
    city: str
    zip: str
    country: str
    external_id: str
    client_ip_address: str
    client_user_agent: str
    url: str


class _Named(TypedDict):
    event: EventName


class Event(_Named, total=False):
    """An event to be tracked.

    ``uuid``: what makes it count once; a UUIDv7 by default. ``distinct_id``: the visitor or customer. ``timestamp``:
    when it happened, now by default; a datetime without a time zone is local time, as everywhere in Python.
    """

    uuid: Union[str, uuid.UUID]
    distinct_id: Union[str, int, uuid.UUID, None]
    timestamp: Union[str, datetime.datetime]
    properties: Union[Properties, Mapping[str, Any]]
