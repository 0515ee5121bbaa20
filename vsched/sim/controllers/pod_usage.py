"""The simulated usage of pods: the cpu and memory of a pod over time.

A pod uses what its annotations say, as a quantity or as a percentage of its request:

    vsched.io/cpu-usage: 1500m        vsched.io/memory-usage: 80%
    vsched.io/usage-swing: 40%        # cpu goes up and down by so much of itself

A Node's annotations of the same names say what it uses besides its pods; there, percentages are of its capacity. Pods
that say nothing use a share of their request that is drawn from their uid. Pure: time comes in, amounts go out.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, TypeVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.cel.quantities import NotAQuantity, amount
from vsched.errors import BadInput

T = TypeVar("T")

CPU_USAGE = "vsched.io/cpu-usage"
MEMORY_USAGE = "vsched.io/memory-usage"
SWING = "vsched.io/usage-swing"
UNASKED = {"cpu": Decimal("0.1"), "memory": Decimal(200 << 20)}
"""The requests of containers that have none, as for Kubernetes' scores."""


@dataclass(frozen=True, slots=True)
class UsageSettings:
    """How much of their requests pods use, and how it is measured."""

    low: float = 0.5
    high: float = 0.5
    """Pods without annotations use a share of their request between these two."""
    swing: float = 0.0
    """How much cpu usage goes up and down, as a share of itself."""
    cycle_seconds: float = 60.0
    """The period of going up and down."""
    window_seconds: float = 300.0
    """The window for the averages of the Custom Metrics API."""
    seed: int = 1


class PodUsage(NamedTuple):
    """The usage of one pod: average cores and bytes, and how cpu varies."""

    cpu: float
    memory: float
    swing: float = 0.0
    phase: float = 0.0
    """The phase of going up and down at time 0, from 0 to 1."""


@dataclass(slots=True)
class PlacedUsage:
    """A usage on a node for a time; in seconds since the epoch."""

    node: str
    load: PodUsage
    began: float
    ended: float = math.inf


def pod_load(pod: Obj, settings: UsageSettings) -> PodUsage:
    """The usage of a pod; invalid annotations are ignored."""
    annotations = pod["metadata"].get("annotations") or {}
    draw = random.Random(f"{settings.seed}/{pod['metadata']['uid']}")
    share, phase = draw.uniform(settings.low, settings.high), draw.random()
    request = requested(pod)
    swing = _readable(annotations, SWING, _share)
    return PodUsage(
        _used(annotations, CPU_USAGE, request["cpu"], share),
        _used(annotations, MEMORY_USAGE, request["memory"], share),
        settings.swing if swing is None else swing,
        phase,
    )


def node_load(node: Obj, capacity: Mapping[str, float]) -> PodUsage:
    """The usage of a node besides its pods."""
    annotations = node["metadata"].get("annotations") or {}
    return PodUsage(
        _used(annotations, CPU_USAGE, capacity["cpu"], 0.0), _used(annotations, MEMORY_USAGE, capacity["memory"], 0.0)
    )


def capacity_of(node: Obj) -> dict[str, float]:
    """Cores and bytes; zero if the node does not say."""
    capacity = node.get("status", {}).get("capacity") or {}
    return {name: float(amount(capacity.get(name, "0"))) for name in ("cpu", "memory")}


def requested(pod: Obj) -> dict[str, float]:
    """Cores and bytes that the containers of a pod request."""
    total = dict.fromkeys(UNASKED, Decimal(0))
    for container in pod["spec"].get("containers") or ():
        asked = (container.get("resources") or {}).get("requests") or {}
        for name, unasked in UNASKED.items():
            total[name] += amount(asked[name]) if name in asked else unasked
    return {name: float(value) for name, value in total.items()}


def usage_problem(obj: Obj) -> str:
    """What is wrong with the usage annotations of a pod or node, in one line; empty if nothing is."""
    annotations = obj["metadata"].get("annotations") or {}
    readers = {CPU_USAGE: _part, MEMORY_USAGE: _part, SWING: _share}
    for name, read in readers.items():
        try:
            read(annotations.get(name, "0"))
        except BadInput as error:
            return f"annotation {name}: {error}"
    return ""


def _used(annotations: Mapping[str, str], name: str, whole: float, share: float) -> float:
    """The usage of an annotation, or a share of the whole without one."""
    part = _readable(annotations, name, _part)
    if part is None:
        return whole * share
    return whole * part.share if part.relative else part.share


class _Part(NamedTuple):
    share: float
    relative: bool


def _readable(annotations: Mapping[str, str], name: str, read: Callable[[str], T]) -> T | None:
    try:
        return read(annotations[name]) if name in annotations else None
    except BadInput:
        return None


def _part(text: str) -> _Part:
    """A quantity, or a percentage."""
    if text.endswith("%"):
        return _Part(_percent(text), relative=True)
    try:
        value = amount(text)
    except NotAQuantity:
        value = Decimal(-1)
    if value < 0:
        raise BadInput(f"{text!r}: expected a quantity such as 1500m or 2Gi, or a percentage such as 80%")
    return _Part(float(value), relative=False)


def _share(text: str) -> float:
    """0 to 1, written as a percentage."""
    share = _percent(text if text.endswith("%") else f"{text}%")
    if share > 1.0:
        raise BadInput(f"{text!r}: expected a percentage from 0% to 100%")
    return share


def _percent(text: str) -> float:
    digits = text.removesuffix("%")
    try:
        value = float(digits)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < math.inf:
        raise BadInput(f"{text!r}: expected a percentage such as 80%")
    return value / 100.0
