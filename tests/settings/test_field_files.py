"""Policy files as they are found in the field: they load, or say exactly what is not here yet."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from vsched.errors import BadPolicy
from vsched.framework.registry import Registry
from vsched.settings import load_file, load_text
from vsched.settings.words import policy as words
from vsched.settings.words import reading as reading_words

DATA = Path(__file__).parent / "data"
USAGE = ["usage-all-keys", "usage-custom-metrics", "usage-prometheus", "usage-elasticsearch"]


def problems(name: str, registry: Registry) -> list[str]:
    with pytest.raises(BadPolicy) as refused:
        load_file(DATA / f"{name}.yaml", registry)
    return [problem.removeprefix(f"{DATA / name}.yaml:") for problem in refused.value.problems]


@pytest.mark.parametrize("name", USAGE)
def test_a_file_with_usage_says_that_it_is_not_here_yet(name: str, registry: Registry) -> None:
    assert problems(name, registry) == ["7: tiers[0].plugins[3].name: " + words.plugin_not_yet("usage")]


def test_the_continuous_integration_file_says_what_is_not_here_yet(registry: Registry) -> None:
    assert problems("volcano-ci", registry) == [
        "1: actions[3]: " + words.action_not_yet("reclaim"),
        "1: actions[4]: " + words.action_not_yet("preempt"),
        "8: tiers[0].plugins[3].name: " + words.plugin_not_yet("sla"),
        "19: tiers[1].plugins[6].name: " + words.plugin_not_yet("network-topology-aware"),
    ]


def test_a_stray_colon_after_a_name_is_told(registry: Registry) -> None:
    assert problems("queue-score-order-as-designed", registry) == [
        "3: " + reading_words.not_yaml(reading_words.STRAY_COLON, " (column 16)")
    ]


def test_a_configuration_of_an_action_that_is_not_here_yet_is_a_warning(registry: Registry, later: Registry) -> None:
    path = DATA / "queue-score-order.yaml"
    assert load_file(path, registry).warnings == (
        f"{path}:15: configurations[2].name: " + words.arguments_not_read(words.action_not_yet("reclaim")),
    )
    settings = load_file(path, later)
    assert settings.warnings == ()
    for action in ("enqueue", "allocate", "reclaim"):
        assert msgspec.to_builtins(settings.policy.action_args[action]) == {
            "QueueScoreOrderEnable": True,
            "QueueScoreOrder.*.weight": {"priority": 1.0, "drf": 1.0, "proportion": 1.0},
            "JobOrderAcrossQueues": False,
        }


def test_the_order_of_queues_is_told_to_every_action_that_takes_them_in_turn(built: Registry) -> None:
    text = """
actions: "enqueue, allocate, backfill"
tiers: [{plugins: [{name: priority}]}]
configurations:
- {name: enqueue, arguments: {QueueScoreOrderEnable: "true", QueueScoreOrder.priority.weight: 2}}
- {name: allocate, arguments: {JobOrderAcrossQueues: true, predicateErrorCacheEnable: false}}
- {name: backfill, arguments: {QueueScoreOrder: {drf: {weight: 0.5}}}}
"""
    found = {
        action: msgspec.to_builtins(args)
        for action, args in load_text(text, "policy", built).policy.action_args.items()
        if action in ("enqueue", "allocate", "backfill")
    }
    weights = "QueueScoreOrder.*.weight"

    assert found["enqueue"] == {
        "QueueScoreOrderEnable": True,
        weights: {"priority": 2.0},
        "JobOrderAcrossQueues": False,
    }
    assert found["allocate"] == {
        "QueueScoreOrderEnable": False,
        weights: {},
        "JobOrderAcrossQueues": True,
        "predicateErrorCacheEnable": False,
        "gangSearchSteps": 300,
    }
    assert found["backfill"][weights] == {"drf": 0.5}


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        pytest.param(
            "QueueScoreOrder.priority.weight: -1",
            "QueueScoreOrder.priority.weight: expected a number >= 0, got '-1'",
            id="a weight below nothing",
        ),
        pytest.param(
            "QueueScoreOrder.priority.wieght: 1",
            "QueueScoreOrder.priority.wieght: unknown argument; did you mean 'QueueScoreOrder.priority.weight'?",
            id="a misspelled weight",
        ),
        pytest.param(
            "QueueScoreOrder: {proportoin: {weight: 1}}",
            "QueueScoreOrder.proportoin.weight: unknown plugin 'proportoin'; did you mean 'proportion'?",
            id="a plugin that nobody knows",
        ),
        pytest.param(
            "JobOrderAcrossQueue: true",
            "JobOrderAcrossQueue: unknown argument; did you mean 'JobOrderAcrossQueues'?",
            id="a misspelled switch",
        ),
    ],
)
def test_what_is_wrong_with_an_order_of_queues_is_told(built: Registry, argument: str, problem: str) -> None:
    text = "actions: enqueue\ntiers: [{plugins: [{name: priority}]}]\nconfigurations:\n- name: enqueue\n  arguments:\n"
    with pytest.raises(BadPolicy) as refused:
        load_text(f"{text}    {argument}", "policy", built)

    assert list(refused.value.problems) == [f"policy:6: configurations[0].arguments.{problem}"]


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
    assert settings.warnings == ()
    usage = settings.policy.plugin("usage")
    assert usage is not None
    assert not usage.switches.predicate
    assert msgspec.to_builtins(usage.args)["thresholds"] == {"cpu": 80, "mem": 70}
