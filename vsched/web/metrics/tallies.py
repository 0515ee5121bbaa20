"""Counters and histograms that cost little to raise: a pod raises a dozen on its way, and the library locks each.

They are raised by the event loop alone, and read at each scrape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from itertools import accumulate
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector


class Count:
    """One series of a counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, by: float = 1.0) -> None:
        self.value += by


class Buckets:
    """One series of a histogram."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """By bucket; the last one is of what exceeds every bound."""
        self.total = 0.0

    def observe(self, amount: float) -> None:
        self.counts[bisect_left(self._bounds, amount)] += 1
        self.total += amount


S = TypeVar("S")


class _Labelled(ABC, Collector, Generic[S]):
    """The series of a metric by the values of its labels. One without labels has its only series from the start."""

    def __init__(self, registry: CollectorRegistry, labels: tuple[str, ...]) -> None:
        self._names = labels
        self._series: dict[tuple[str, ...], S] = {}
        if not labels:
            self.labels()
        registry.register(self)

    def labels(self, *values: str) -> S:
        """The series with these values, in the order of the names."""
        found = self._series.get(values)
        if found is None:
            if len(values) != len(self._names):
                raise ValueError(f"expected a value for each of {self._names}, got {values}")
            found = self._series[values] = self._made()
        return found

    @abstractmethod
    def _made(self) -> S:
        """A series that nothing was counted in."""


class Counter(_Labelled[Count]):
    """Only rises."""

    def __init__(self, registry: CollectorRegistry, name: str, says: str, labels: tuple[str, ...] = ()) -> None:
        self._name, self._says = name, says
        super().__init__(registry, labels)

    def _made(self) -> Count:
        return Count()

    def inc(self, by: float = 1.0) -> None:
        """Raise the only series of a metric without labels."""
        self.labels().inc(by)

    def collect(self) -> list[Metric]:
        family = CounterMetricFamily(self._name, self._says, labels=self._names)
        for values, series in self._series.items():
            family.add_metric(values, series.value)
        return [family]


class Histogram(_Labelled[Buckets]):
    """How often amounts were within which bounds, and their sum."""

    def __init__(
        self,
        registry: CollectorRegistry,
        name: str,
        says: str,
        bounds: tuple[float, ...],
        labels: tuple[str, ...] = (),
    ) -> None:
        self._name, self._says = name, says
        self._bounds = bounds
        self._shown = [*(str(float(bound)) for bound in bounds), "+Inf"]
        super().__init__(registry, labels)

    def _made(self) -> Buckets:
        return Buckets(self._bounds)

    def observe(self, amount: float) -> None:
        """Count in the only series of a metric without labels."""
        self.labels().observe(amount)

    def collect(self) -> list[Metric]:
        family = HistogramMetricFamily(self._name, self._says, labels=self._names)
        for values, series in self._series.items():
            family.add_metric(values, list(zip(self._shown, accumulate(series.counts), strict=True)), series.total)
        return [family]
