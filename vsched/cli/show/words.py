"""What is said of places, on pages of several commands."""

from __future__ import annotations

# -- domains of topology -----------------------------------------------------------------------------------------------

WHOLE_CLUSTER = "the whole cluster"


def asks_for(what: str) -> str:
    return f"asks for {what}"


def pods_are_in(domain: str, tier: int | None) -> str:
    return f"its pods are in {domain}, tier {tier}"


def and_asks_for(what: str) -> str:
    return f"; asks for {what}"


def has_on_nodes(domain: str, pods: str, minimum: int, where: str, asks: str) -> str:
    return f"{domain} has {pods} of at least {minimum} on nodes{where}{asks}"


HAS_ROOM_FOR = "has room for"


def more_domains(more: str, tier: int, name: str) -> str:
    return f"and {more} of tier {tier}{name}"
