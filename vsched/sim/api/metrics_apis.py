"""The metrics APIs with the usage of nodes and pods: ``metrics.k8s.io`` and ``custom.metrics.k8s.io``.

In a real cluster these are aggregated APIs, of metrics-server and of the adapter of a monitoring system. The figures
are worked out for each request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from vsched.apimachinery.meta.api_errors import Failure, method_not_allowed, not_found, unknown_path
from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj, Subresource
from vsched.apimachinery.meta.times import format_time
from vsched.cel.quantities import canonical
from vsched.sim.requests.answers import ServerAnswer
from vsched.sim.requests.reads import list_objects
from vsched.sim.requests.request import ApiRequest, Path
from vsched.sim.store.store import Store, key_of

if TYPE_CHECKING:
    from vsched.sim.controllers.nodes.usage_meter import Measured, UsageMeter

RESOURCE_METRICS, CUSTOM_METRICS = "metrics.k8s.io", "custom.metrics.k8s.io"
GROUPS = frozenset({RESOURCE_METRICS, CUSTOM_METRICS})
NODE_METRICS = {
    "node_cpu_usage_avg": "cpu_share",
    "node_memory_usage_avg": "memory_share",
    "node_cpu_usage_stddev": "cpu_spread",
    "node_memory_usage_stddev": "memory_spread",
}
"""The custom metrics of nodes, and their figures: averages and standard deviations of shares of the capacity."""
RESOLUTION_SECONDS = 15.0
"""The window of ``metrics.k8s.io``, as in metrics-server."""
_EVERY = "*"
_READ = ("get", "list")
_SELECTORS = ("labelSelector", "fieldSelector")


def serve(registry: KindRegistry) -> None:
    """Adds the groups and their resources to discovery; the first version is the preferred one."""
    for kind, plural, namespaced in (("NodeMetrics", "nodes", False), ("PodMetrics", "pods", True)):
        storage = f"{RESOURCE_METRICS}/{plural}"
        registry.add(Kind(RESOURCE_METRICS, "v1beta1", kind, plural, "", namespaced, storage, verbs=_READ))
    subresources = tuple(Subresource(name, "MetricValueList", ("get",)) for name in NODE_METRICS)
    for version in ("v1beta2", "v1beta1"):
        values = Kind(CUSTOM_METRICS, version, "MetricValueList", "nodes", "", False, f"{CUSTOM_METRICS}/nodes",
                      subresources=subresources, verbs=())  # fmt: skip
        registry.add(values)


class MetricsApis:
    """Answers requests with the figures of a usage meter."""

    def __init__(self, store: Store, meter: UsageMeter) -> None:
        self._store = store
        self._meter = meter

    def answer(self, call: ApiRequest, path: Path) -> ServerAnswer:
        """The figures for a path of one of the groups."""
        if path.version not in self._store.registry.versions(path.group) or path.watch:
            raise unknown_path()
        if call.method != "GET":
            raise method_not_allowed()
        if path.group == CUSTOM_METRICS:
            return self._custom(call, path)
        kind = self._store.registry.at(path.group, path.version, path.plural)
        if kind is None or path.subresource or bool(path.namespace) > kind.namespaced:
            raise unknown_path()
        return self._metrics_of_nodes(call, path, kind) if path.plural == "nodes" else self._of_pods(call, path, kind)

    # -- metrics.k8s.io ------------------------------------------------------------------------------------------

    def _metrics_of_nodes(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        nodes = self._asked("nodes", "", path.name, call)
        measured = self._meter.nodes(nodes, RESOLUTION_SECONDS)
        now = self._now()
        items = [
            {**_head(node, now), "usage": _usage(found)}
            for node in nodes
            if (found := measured.get(key_of(node))) is not None
        ]
        return _listed(kind, path.name, items)

    def _of_pods(self, call: ApiRequest, path: Path, kind: Kind) -> ServerAnswer:
        pods = self._asked("pods", path.namespace, path.name, call)
        measured = self._meter.pods(pods, RESOLUTION_SECONDS)
        now = self._now()
        items = [
            {**_head(pod, now), "containers": _containers(pod, found)}
            for pod in pods
            if (found := measured.get(key_of(pod))) is not None
        ]
        return _listed(kind, path.name, items)

    # -- custom.metrics.k8s.io -----------------------------------------------------------------------------------

    def _custom(self, call: ApiRequest, path: Path) -> ServerAnswer:
        """``/nodes/NAME/METRIC``, all nodes for the name ``*``."""
        metric, name = path.subresource, path.name
        if not metric:
            raise unknown_path()
        if path.plural != "nodes" or path.namespace or metric not in NODE_METRICS:
            raise _unknown_metric(metric, path.plural)
        nodes = self._asked("nodes", "", "" if name == _EVERY else name, call)
        measured = self._meter.nodes(nodes, self._meter.settings.window_seconds)
        if name != _EVERY and name not in measured:
            raise _unknown_metric(metric, f"{path.plural} {name}")
        named = {"metricName": metric} if path.version == "v1beta1" else {"metric": {"name": metric, "selector": None}}
        now = self._now()
        items = [
            {
                "describedObject": {"kind": "Node", "name": node, "apiVersion": "/v1"},
                **named,
                "timestamp": now,
                "value": _quantity(getattr(found, NODE_METRICS[metric]), "0.001"),
            }
            for node, found in measured.items()
        ]
        listed = {"kind": "MetricValueList", "apiVersion": f"{path.group}/{path.version}", "metadata": {}}
        return ServerAnswer(obj={**listed, "items": items})

    # -- both ----------------------------------------------------------------------------------------------------

    def _asked(self, resource: str, namespace: str, name: str, call: ApiRequest) -> list[Obj]:
        """The objects of a request: one by name, or those of its selectors."""
        kind = self._store.registry.resource(resource)
        if not name:
            # There are no pages, as in metrics-server.
            selectors = {key: call.query[key] for key in _SELECTORS if key in call.query}
            return list_objects(self._store, kind, namespace, "", replace(call, query=selectors)).objects()
        record = self._store.get(kind, namespace, name)
        if record is None:
            raise not_found(kind, name)
        return [record.obj]

    def _now(self) -> str:
        return format_time(datetime.fromtimestamp(self._meter.clock(), UTC))


def _head(obj: Obj, now: str) -> Obj:
    """The metadata and time of figures."""
    metadata = obj["metadata"]
    shown = {name: metadata[name] for name in ("name", "namespace", "labels") if name in metadata}
    span = f"{RESOLUTION_SECONDS:.0f}s"
    return {"metadata": {**shown, "creationTimestamp": now}, "timestamp": now, "window": span}


def _listed(kind: Kind, name: str, items: list[Obj]) -> ServerAnswer:
    """A list of figures, or those of one object by name."""
    if not name:
        head = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": {}}
        return ServerAnswer(obj={**head, "items": items})
    if not items:
        raise not_found(kind, name)
    return ServerAnswer(obj={"kind": kind.kind, "apiVersion": kind.api_version, **items[0]})


def _containers(pod: Obj, found: Measured) -> Iterable[Obj]:
    """The usage of a pod, in equal parts for its containers."""
    names = [container["name"] for container in pod["spec"]["containers"]]
    part = found._replace(cpu=found.cpu / len(names), memory=found.memory / len(names))
    return [{"name": name, "usage": _usage(part)} for name in names]


def _usage(found: Measured) -> Obj:
    return {"cpu": _quantity(found.cpu, "1e-6"), "memory": f"{round(found.memory / 1024)}Ki"}


def _quantity(value: float, step: str) -> str:
    return canonical(format(Decimal(value).quantize(Decimal(step)), "f"))


def _unknown_metric(metric: str, whose: str) -> Failure:
    """In the words of a monitoring system's adapter."""
    why = f"the server could not find the metric {metric} for {whose}"
    return Failure(404, "NotFound", why)
