"""Levers of shared devices: containers that ask for less of them, and pods that accept any of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank
from vsched.explain.edits.pods import SetDeviceAmount
from vsched.explain.edits.rules import DropRule
from vsched.model.deviceshare.asking import AMOUNTS, DeviceAmount, has_wishes, most_asked, resources_of
from vsched.model.deviceshare.records import SharedDeviceRequest

HALVES = 2
"""A lever divides what a container asks for by at most this number."""


def device_resources(wants: MissingMinimum) -> frozenset[str]:
    """The resources by which the waiting pods ask for shared devices."""
    return frozenset(name for request in _requests(wants) for name in resources_of(request).values())


def device_part_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """For each amount that containers ask of shared devices, a lever that lowers it to a half at most."""
    requests = _requests(wants)
    for what in AMOUNTS:
        asked = max((most_asked(one, what) for one in requests if what in resources_of(one)), default=0)
        most = asked - -(-asked // HALVES)
        if most > 0:
            yield Lever(Rank.LESS, partial(_less, wants.job.key, what, asked), most, whole=asked, kind="requests")
    if any(map(has_wishes, requests)):
        yield Lever(Rank.ELSEWHERE, lambda _: DropRule(wants.job.key, "deviceWishes"), kind="rules")


def _less(key: str, what: DeviceAmount, asked: int, step: int) -> SetDeviceAmount:
    return SetDeviceAmount(key, what, asked - step)


def _requests(wants: MissingMinimum) -> list[SharedDeviceRequest]:
    return [shape.devices for shape in wants.shapes if shape.devices is not None]
