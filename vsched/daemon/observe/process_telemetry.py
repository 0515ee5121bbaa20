"""What a daemon counts and logs of itself: its requests, policy, watches, node usage, event loop and searches."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.api.resources import HEEDED, RESOURCES, SELDOM_SERVED
from vsched.collectors.poll import SourceState
from vsched.daemon.policy.reload import PolicyReading
from vsched.daemon.words import log as words
from vsched.kube.watch.deltas import Statistics, WatchState
from vsched.log import logger
from vsched.web.metrics.counters import Metrics

_SELDOM_SERVED = frozenset(str((RESOURCES | HEEDED)[kind]) for kind in SELDOM_SERVED)


class ProcessTelemetry:
    """Counts and logs everything but decisions and what becomes of them."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._log = logger("vsched")

    def request(self, kind: str, code: int, seconds: float) -> None:
        """A write was answered, or not (code 0)."""
        self._metrics.requests.labels(kind, str(code)).inc()
        self._metrics.request_seconds.labels(kind).observe(seconds)

    def answered(self, verb: str, code: int) -> None:
        """Any request was answered, or not (code 0)."""
        self._metrics.api_requests.labels(verb, str(code)).inc()

    def reading(self, reading: PolicyReading) -> None:
        """The policy file was read."""
        result = "success" if reading.ok else "failure"
        self._metrics.reloads.labels(result).inc()
        self._metrics.reloaded.labels(result).set(reading.at)
        self._metrics.generation.set(reading.generation)
        if reading.ok:
            self._log.info(words.POLICY_IN_FORCE, generation=reading.generation, changes=reading.text)
            for warning in reading.warnings:
                self._log.warning(words.POLICY_WARNING, warning=warning)
        else:
            self._log.error(words.POLICY_REJECTED, problems=reading.problems)

    def watch(self, statistics: Statistics) -> None:
        """A watch has changed its state or its problem."""
        resource = str(statistics.resource)
        if statistics.state is WatchState.MISSING and resource in _SELDOM_SERVED:
            self._log.info("watch", resource=resource, state=words.NOT_NEEDED)
        elif statistics.problem:
            self._log.warning("watch", resource=resource, state=statistics.state.value, problem=statistics.problem)
        else:
            self._log.debug("watch", resource=resource, state=statistics.state.value)

    def usage(self, standing: SourceState) -> None:
        """A source of node usage has changed its state."""
        fields = {"source": standing.source, "nodes": standing.nodes, "known": len(standing.measured)}
        if standing.problem:
            self._log.warning("node usage", state=standing.state.value, problem=standing.problem, **fields)
        else:
            self._log.info("node usage", state=standing.state.value, **fields)

    def lag(self, seconds: float) -> None:
        """The event loop was late by this much."""
        self._metrics.loop_lag.observe(seconds)

    def tasks(self, tasks: int) -> None:
        """The event loop has so many tasks."""
        self._metrics.loop_tasks.set(tasks)

    def advised(self, results: Iterable[str], seconds: float) -> None:
        """Results of searches for advice, and the processor time of all of them together."""
        self._metrics.advice_seconds.inc(seconds)
        for result in results:
            self._metrics.advice.labels(result).inc()

    def overview_failed(self, error: Exception) -> None:
        """An overview could not be made; sessions go on."""
        self._log.error(words.PAGE_FAILED, exc_info=error)
