"""Replies of usage sources spoilt field by field: each is read or refused in a line, and sessions go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from tests.support.spoiling import replaced
from vsched.collectors.custom_metrics import parse_values
from vsched.collectors.elasticsearch import parse_hosts
from vsched.collectors.figures import CPU, CPU_SPREAD, MEMORY, collect
from vsched.collectors.metrics_server import parse_nodes
from vsched.collectors.prometheus import parse_vector
from vsched.collectors.source import NodeTarget, SourceError
from vsched.framework.cycle import run_cycle
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

Numbers = Mapping[str, float]
USAGE = Path(__file__).parents[2] / "config" / "policies" / "usage.yaml"
TIME = "2026-01-01T00:00:00Z"
CLUSTER = """
node n1 cpu=4 memory=8Gi
node n2 cpu=4 memory=8Gi
queue default
job ns/good min=2 pods=2 cpu=1
"""


def by_prometheus(body: bytes) -> Numbers:
    return parse_vector("cpu", body, "instance").numbers


def by_custom_metrics(body: bytes) -> Numbers:
    return {name: number for name, (number, _) in parse_values("m", body).items()}


def by_metrics_server(body: bytes) -> Numbers:
    return {name: cores for name, (_, cores, _) in parse_nodes(body).items()}


def by_elasticsearch(body: bytes) -> Numbers:
    return {host.key: host.cpu.avg for host in parse_hosts("i", body) if host.cpu.avg is not None}


PARSERS: dict[str, tuple[Callable[[bytes], Numbers], dict[str, Any]]] = {
    "Prometheus": (
        by_prometheus,
        {
            "status": "success",
            "data": {
                "resultType": "vector",
                "result": [{"metric": {"instance": name}, "value": [1000.5, "42"]} for name in ("n1", "n2")],
            },
        },
    ),
    "custom metrics": (
        by_custom_metrics,
        {"items": [{"describedObject": {"name": "n1"}, "timestamp": TIME, "value": "420m"}]},
    ),
    "metrics server": (
        by_metrics_server,
        {"items": [{"metadata": {"name": "n1"}, "timestamp": TIME, "usage": {"cpu": "1500m", "memory": "1Gi"}}]},
    ),
    "Elasticsearch": (
        by_elasticsearch,
        {
            "timed_out": False,
            "_shards": {"total": 1, "failed": 0},
            "aggregations": {
                "hosts": {
                    "buckets": [
                        {
                            "key": "n1",
                            "cpu": {"avg": 0.5, "std_deviation": 0.1},
                            "memory": {"avg": 0.5, "std_deviation": 0.1},
                            "newest": {"value": 1000.0},
                        }
                    ]
                }
            },
        },
    ),
}


@pytest.mark.parametrize(("parse", "reply"), PARSERS.values(), ids=PARSERS)
def test_replies_are_read_or_refused_and_a_good_gang_is_placed(
    parse: Callable[[bytes], Numbers], reply: dict[str, Any]
) -> None:
    targets = [NodeTarget("n1", "n1", 4000, 8 << 30), NodeTarget("n2", "n2", 4000, 8 << 30)]
    usage = load_text(USAGE.read_text(encoding="utf-8"), "usage", REGISTRY).policy
    cache = mirror(manifests(CLUSTER))
    assert parse(orjson.dumps(reply)).keys() <= {"n1", "n2"}
    count, refused = 0, list[str]()
    for _, body in replaced(reply):
        count += 1
        try:
            numbers = parse(body)
        except SourceError as error:
            refused.append(str(error))
            continue
        measured = dict.fromkeys(numbers, NOW)
        found = {(figure, "5m"): numbers for figure in (CPU, MEMORY, CPU_SPREAD)}
        cache.inputs.use(collect(NOW, targets, measured, found).reading)
        for policy in (usage, DEFAULT_POLICY):
            bound = run_cycle(cache.snapshot(NOW), policy, REGISTRY).binds
            assert not bound or len(bound) == 2
    assert count > 400
    assert 0 < len(refused) < count
    assert all("\n" not in line and len(line) < 1200 for line in refused)
