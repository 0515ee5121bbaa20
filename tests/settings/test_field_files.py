"""Policy files as they are found in the field: they load, or say exactly what is not here yet."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from vsched.errors import BadPolicy
from vsched.framework.registry import Registry
from vsched.settings import load_file

DATA = Path(__file__).parent / "data"
USAGE = ["usage-all-keys", "usage-custom-metrics", "usage-prometheus", "usage-elasticsearch"]


def problems(name: str, registry: Registry) -> list[str]:
    with pytest.raises(BadPolicy) as refused:
        load_file(DATA / f"{name}.yaml", registry)
    return [problem.removeprefix(f"{DATA / name}.yaml:") for problem in refused.value.problems]


@pytest.mark.parametrize("name", USAGE)
def test_a_file_with_usage_says_that_it_is_not_here_yet(name: str, registry: Registry) -> None:
    assert problems(name, registry) == ["7: tiers[0].plugins[3].name: plugin 'usage' does not exist in vsched yet"]


def test_the_continuous_integration_file_says_what_is_not_here_yet(registry: Registry) -> None:
    assert problems("volcano-ci", registry) == [
        "1: actions[3]: action 'reclaim' does not exist in vsched yet",
        "1: actions[4]: action 'preempt' does not exist in vsched yet",
        "8: tiers[0].plugins[3].name: plugin 'sla' does not exist in vsched yet",
        "19: tiers[1].plugins[6].name: plugin 'network-topology-aware' does not exist in vsched yet",
    ]


def test_a_stray_colon_after_a_name_is_told(registry: Registry) -> None:
    assert problems("queue-score-order-as-designed", registry) == [
        "3: not YAML: a ':' where none can be; drop it, or put the value in quotes (column 16)"
    ]


def test_a_configuration_of_an_action_that_is_not_here_yet_is_a_warning(registry: Registry, later: Registry) -> None:
    path = DATA / "queue-score-order.yaml"
    assert load_file(path, registry).warnings == (
        f"{path}:15: configurations[2].name: action 'reclaim' does not exist in vsched yet; its arguments are not read",
    )
    settings = load_file(path, later)
    assert settings.warnings == ()
    for action in ("enqueue", "allocate", "reclaim"):
        assert msgspec.to_builtins(settings.policy.action_args[action]) == {
            "QueueScoreOrderEnable": True,
            "QueueScoreOrder.*.weight": {"priority": 1.0, "drf": 1.0, "proportion": 1.0},
            "JobOrderAcrossQueues": False,
        }


METRICS = {
    "usage-all-keys": {"type": "prometheus", "address": "http://192.168.0.10:9090", "index": "custom-index-name"},
    "usage-custom-metrics": {"type": "prometheus_adaptor", "address": "", "index": "metricbeat-*"},
    "usage-prometheus": {"type": "prometheus", "address": "http://192.168.0.10:9090", "index": "metricbeat-*"},
    "usage-elasticsearch": {
        "type": "elasticsearch",
        "address": "http://192.168.0.10:9090",
        "index": "custom-index-name",
    },
}


@pytest.mark.parametrize("name", USAGE)
def test_nested_metrics_blocks_load_as_written(name: str, later: Registry) -> None:
    settings = load_file(DATA / f"{name}.yaml", later)
    metrics = settings.metrics
    assert metrics is not None
    found = {"type": metrics.type, "address": metrics.address, "index": metrics.elasticsearch.index}
    assert found == METRICS[name]
    assert (metrics.interval, metrics.basicauth, metrics.tls.insecure_skip_verify) == (30.0, False, False)
    assert metrics.elasticsearch.hostname_field == "host.hostname"
    assert settings.warnings == (
        f"{DATA / name}.yaml:23: metrics.type: collecting usage ({metrics.type}) is not in this version of vsched",
    )
    usage = settings.policy.plugin("usage")
    assert usage is not None
    assert not usage.switches.predicate
    assert msgspec.to_builtins(usage.args)["thresholds"] == {"cpu": 80, "mem": 70}
