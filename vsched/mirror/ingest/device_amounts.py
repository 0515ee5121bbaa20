"""Amounts and words in what nodes and pods say of shared devices. What cannot be read raises BadObject."""

from __future__ import annotations

from vsched.api.base import ResourceList
from vsched.api.pods import Container
from vsched.errors import BadObject, BadQuantity
from vsched.mirror.ingest.requests import Resources
from vsched.mirror.ingest.rules import decoded
from vsched.mirror.ingest.words import devices as words
from vsched.model.amounts.resources import parse_scaled

TEXT_MAX = 16384
"""The longest text about the devices of a node or a pod that is read."""
WORDS_MAX = 64
"""Types or uuids that one pod names."""
AMOUNT_MAX = 1 << 40
"""MiB, and other amounts: no device has more."""


def whole_of(text: str) -> int:
    """A whole number."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 12:
        raise BadObject(words.no_whole_number(text[:40]))
    return int(text)


def amount_of(value: int, what: str) -> int:
    """An amount that a device may have; ``what`` it is, for messages."""
    if not 0 <= value <= AMOUNT_MAX:
        raise BadObject(f"{value} {what} (expected 0 to {AMOUNT_MAX:,})")
    return value


def quantity_of(found: ResourceList, name: str, at: str) -> int:
    """The whole number of a resource, 0 where it is not listed."""
    if name not in found:
        return 0
    try:
        return min(AMOUNT_MAX, parse_scaled(name, found[name], 1))
    except BadQuantity as error:
        raise BadObject(f"{at}.{error}") from None


def container_limits(container: Container, at: str) -> ResourceList:
    """The limits of a container; requests where it has no such limit."""
    found = decoded(container.resources, Resources, f"{at}.resources")
    return {} if found is None else {**(found.requests or {}), **(found.limits or {})}


def words_of(text: str | None, at: str) -> tuple[str, ...]:
    """The words of a list, sorted."""
    if not text:
        return ()
    chosen = {word.strip() for word in text[: TEXT_MAX + 1].split(",")} - {""}
    if len(text) > TEXT_MAX or len(chosen) > WORDS_MAX:
        raise BadObject(words.too_many_words(at, WORDS_MAX, TEXT_MAX))
    return tuple(sorted(chosen))
