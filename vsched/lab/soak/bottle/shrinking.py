"""A smaller bottle in which the same goes wrong: fewer faults, daemons, pods and nodes, and less time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.settings import BottleSettings

FEWEST_PODS = 1.0
"""A minute."""


def shrunk(
    settings: BottleSettings, promise: str, told: Callable[[BottleSettings], None] = lambda settings: None
) -> BottleSettings:
    """The smallest settings found under which this promise is broken; ``told`` is called with each step."""
    smaller = True
    while smaller:
        smaller = False
        for tried in _smaller(settings):
            if promise in Bottle(tried).run()["violations"]:
                settings, smaller = tried, True
                told(settings)
                break
    return settings


def _smaller(settings: BottleSettings) -> Iterator[BottleSettings]:
    """Settings that have a little less of something."""
    change, faults = msgspec.structs.replace, settings.faults
    for name in ("processes", "cluster", "webhooks", "extender", "rules"):
        rules = getattr(faults, name)
        for at in range(len(rules)):
            yield change(settings, faults=change(faults, **{name: (*rules[:at], *rules[at + 1 :])}))
    for flag in ("arbitrate", "claims", "asked", "namesakes"):
        if getattr(settings, flag):
            yield change(settings, **{flag: False})
    if settings.more_nodes:
        yield change(settings, more_nodes=0)
    if settings.shards > 1:
        yield change(settings, shards=1)
    elif settings.daemons > 1:
        yield change(settings, daemons=settings.daemons - 1)
    if settings.seconds > 1.0:
        yield change(settings, seconds=settings.seconds / 2)
    if settings.pods_per_minute > FEWEST_PODS:
        yield change(settings, pods_per_minute=max(FEWEST_PODS, settings.pods_per_minute / 2))
    if settings.nodes > 1:
        yield change(settings, nodes=settings.nodes // 2)
