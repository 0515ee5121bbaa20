"""The arguments of the usage plugin: thresholds, weights, and the estimator for load that is not measured yet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, NamedTuple, Self

import msgspec

from vsched.errors import BadQuantity
from vsched.model.amounts.quantity import parse_quantity
from vsched.model.amounts.resources import scale_of
from vsched.model.nodes.usage import DEFAULT_PERIOD, period_seconds
from vsched.plugins.words import arguments

Weight = Annotated[int, msgspec.Meta(ge=0)]
Factor = Annotated[float, msgspec.Meta(ge=0)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
Part = Annotated[float, msgspec.Meta(ge=0, le=1)]

_THRESHOLD = re.compile(r"(cpu|mem|memory)(?:UsageAvg\.(.+))?", re.IGNORECASE)
_MIB = 1 << 20


class LoadLimit(NamedTuple):
    """Where the load of a node closes it to new pods."""

    resource: str
    """``cpu`` or ``memory``."""
    period: str
    percent: float


class Estimator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The load of pods that were placed and are not measured yet."""

    request_ratio: Factor = 0.7
    """How much of its request a pod uses."""
    burst_ratio: Factor = 0.0
    """How much it uses of what its limits allow beyond that."""
    risk_threshold: Part = 0.6
    """The load, cpu and memory by weight, from which on a node is at risk; a part of 1."""
    risk_factor: Factor = 1.2
    """What estimates are multiplied by on a node at risk; never beyond a pod's limits."""
    be_cpu: int | str = "250m"
    """What a pod that asks for nothing uses; a whole number means milli-cores."""
    be_mem: int | str = "200Mi"
    """The same of memory; a whole number means MiB."""

    def best_effort(self) -> tuple[int, int]:
        """Milli-cores and bytes of a pod that asks for nothing; raises ValueError."""
        cpu = self.be_cpu if isinstance(self.be_cpu, int) else _amount("be_cpu", self.be_cpu, "cpu")
        memory = self.be_mem * _MIB if isinstance(self.be_mem, int) else _amount("be_mem", self.be_mem, "memory")
        for name, amount in (("be_cpu", cpu), ("be_mem", memory)):
            if amount < 0:
                raise ValueError(arguments.estimate_below_zero(name))
        return cpu, memory


class UsageArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds, weights and the estimator; numbers of percent are of a node's capacity."""

    weight: Weight = msgspec.field(default=5, name="usage.weight")
    """Of the whole score, 0 to 100 before; 0 leaves it out."""
    period: str = msgspec.field(default=DEFAULT_PERIOD, name="usage.period")
    """What averages are taken over: seconds, minutes or hours (``5m``)."""
    cpu: Weight = msgspec.field(default=1, name="cpu.weight")
    memory: Weight = msgspec.field(default=1, name="memory.weight")
    fluctuation: Factor = msgspec.field(default=1.0, name="fluctuation.weight")
    """How many standard deviations above its average a node is taken to be at; 0 looks at averages alone."""
    dimension: Part = msgspec.field(default=0.5, name="dimension.weight")
    """How far the weights of cpu and memory follow what a pod asks for: 0 not at all, 1 wholly."""
    thresholds: dict[str, Percent] = {}
    """By ``cpu`` and ``mem``, over ``usage.period``, or by ``CPUUsageAvg.<period>`` and ``MEMUsageAvg.<period>``: nodes
    above are closed to new pods. None where none is given."""
    estimator: Estimator = Estimator()

    def normalised(self) -> Self:
        """The same; refuses what is no threshold, no period, or no amount."""
        if period_seconds(self.period) is None:
            raise ValueError(arguments.no_period())
        self.limits()
        self.estimator.best_effort()
        return self

    def limits(self) -> tuple[LoadLimit, ...]:
        """Thresholds in the order given; raises ValueError where one is none, or two are of one thing."""
        found: dict[tuple[str, str], LoadLimit] = {}
        for name, percent in self.thresholds.items():
            match = _THRESHOLD.fullmatch(name)
            if match is None:
                raise ValueError(arguments.no_threshold(name))
            resource = "cpu" if match[1].lower() == "cpu" else "memory"
            period = match[2] or self.period
            if period_seconds(period) is None:
                raise ValueError(arguments.threshold_without_period(name))
            if (resource, period) in found:
                raise ValueError(arguments.threshold_twice(name, resource, period))
            found[resource, period] = LoadLimit(resource, period, percent)
        return tuple(found.values())

    def usage_periods(self) -> Iterable[str]:
        """Periods of the scores and of the thresholds."""
        return {self.period, *(limit.period for limit in self.limits())}


def _amount(name: str, text: str, resource: str) -> int:
    try:
        return parse_quantity(text.strip(), scale_of(resource))
    except BadQuantity as error:
        raise ValueError(f"estimator.{name}: {error}") from None
