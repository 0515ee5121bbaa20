"""usage: arguments as they are written, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.plugins.usage_world import usage_args, usage_policy
from tests.support.plans import plan
from vsched.errors import BadPolicy
from vsched.framework.words.nodes import available
from vsched.model.words import not_a_quantity
from vsched.plugins.load.args import LoadLimit
from vsched.plugins.usage import UsageArgs
from vsched.plugins.words import arguments as words
from vsched.plugins.words.nodes import usage_above
from vsched.settings import load_file, load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.reading.arguments import flat_arguments

DATA = Path(__file__).parent.parent / "settings" / "data"
DESIGNED = ["usage-all-keys", "usage-custom-metrics", "usage-elasticsearch", "usage-prometheus"]
HOT_AND_HOTTER = """
node n1 cpu=8
node n2 cpu=8
usage n1 cpu=95 memory=95
usage n2 cpu=90 memory=90
queue q weight=1
job ns/a min=1 pods=1 cpu=1 queue=q
"""


@pytest.mark.parametrize("name", DESIGNED)
def test_files_as_designed_score_loaded_nodes_and_close_none(name: str) -> None:
    policy = load_file(DATA / f"{name}.yaml", REGISTRY).policy
    conf = policy.plugin("usage")

    assert conf is not None
    assert isinstance(conf.args, UsageArgs)
    assert conf.args.limits() == (LoadLimit("cpu", "5m", 80.0), LoadLimit("memory", "5m", 70.0))
    assert (conf.args.weight, conf.args.cpu, conf.args.memory) == (5, 1, 1)
    assert policy.usage_periods() == ("5m",)
    assert plan(HOT_AND_HOTTER, policy).nodes == {"a.0": "n2"}


@pytest.mark.parametrize(
    "switch",
    [
        pytest.param("enablePredicate: true", id="true"),
        pytest.param("enablePredicate:", id="left blank"),
        pytest.param("", id="left out"),
    ],
)
@pytest.mark.parametrize("name", DESIGNED)
def test_the_same_files_close_loaded_nodes_unless_told_not_to(name: str, switch: str) -> None:
    lines = (DATA / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(f"        {switch}" if "enablePredicate" in line else line for line in lines)
    found = plan(HOT_AND_HOTTER, load_text(text, name, REGISTRY).policy)

    assert found.nodes == {}
    assert found.why("ns/a.0") == available(2, {usage_above("cpu", 80, "5m"): 2})


@pytest.mark.parametrize(
    ("arguments", "limits", "periods"),
    [
        pytest.param({}, (), ("5m",), id="nothing is told"),
        pytest.param({"thresholds": {"cpu": "80"}}, (LoadLimit("cpu", "5m", 80.0),), ("5m",), id="a number in quotes"),
        pytest.param({"thresholds.mem": 70.5}, (LoadLimit("memory", "5m", 70.5),), ("5m",), id="flat, and a fraction"),
        pytest.param(
            {"thresholds": {"CPUUsageAvg.5m": 80, "MEMUsageAvg.1h": 70}},
            (LoadLimit("cpu", "5m", 80.0), LoadLimit("memory", "1h", 70.0)),
            ("1h", "5m"),
            id="two periods",
        ),
        pytest.param(
            {"thresholds": {"CpuUsageAvg": {"1h": 80}}, "thresholds.MemUsageAvg.30s": 70, "usage": {"period": "10m"}},
            (LoadLimit("cpu", "1h", 80.0), LoadLimit("memory", "30s", 70.0)),
            ("10m", "1h", "30s"),
            id="nested further, flat, and a period of the scores",
        ),
        pytest.param(
            {"thresholds": {"cpu": 80, "CPUUsageAvg.1h": 60}, "usage.period": "10m"},
            (LoadLimit("cpu", "10m", 80.0), LoadLimit("cpu", "1h", 60.0)),
            ("10m", "1h"),
            id="one resource over two periods",
        ),
    ],
)
def test_thresholds_as_they_are_written(
    arguments: dict[str, Any], limits: tuple[LoadLimit, ...], periods: tuple[str, ...]
) -> None:
    assert usage_args(arguments).limits() == limits
    assert usage_policy(arguments).usage_periods() == periods


def test_a_policy_without_the_plugin_wants_the_default_period() -> None:
    text = "actions: allocate\ntiers: [{plugins: [{name: binpack}]}]"

    assert load_text(text, "policy", REGISTRY).policy.usage_periods() == ("5m",)


@pytest.mark.parametrize(
    ("arguments", "cpu", "memory"),
    [
        pytest.param({}, 250, 200 << 20, id="by default"),
        pytest.param({"estimator": {"be_cpu": "1", "be_mem": "1Gi"}}, 1, 1 << 30, id="a whole number is milli-cores"),
        pytest.param({"estimator.be_cpu": "0.5", "estimator.be_mem": 64}, 500, 64 << 20, id="cores, and MiB"),
    ],
)
def test_what_a_pod_that_asks_for_nothing_uses(arguments: dict[str, Any], cpu: int, memory: int) -> None:
    assert usage_args(arguments).estimator.best_effort() == (cpu, memory)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(
            {"thresholds": {"gpu": 80}},
            words.no_threshold("gpu"),
            id="a resource that is not measured",
        ),
        pytest.param(
            {"thresholds": {"CPUUsageAvg.soon": 80}},
            words.threshold_without_period("CPUUsageAvg.soon"),
            id="no period",
        ),
        pytest.param(
            {"thresholds": {"cpu": 80, "CPUUsageAvg.5m": 70}},
            words.threshold_twice("CPUUsageAvg.5m", "cpu", "5m"),
            id="one threshold twice",
        ),
        pytest.param(
            {"thresholds": {"cpu": 101}}, "thresholds.cpu: expected a number >= 0 and <= 100, got '101'", id="101"
        ),
        pytest.param({"usage.period": "5"}, words.no_period(), id="period"),
        pytest.param({"usage.weight": -1}, "usage.weight: expected a whole number >= 0, got '-1'", id="weight"),
        pytest.param(
            {"estimator.be_cpu": "much"},
            f"estimator.be_cpu: {not_a_quantity('much')}",
            id="no quantity",
        ),
        pytest.param({"estimator.be_mem": -1}, words.estimate_below_zero("be_mem"), id="less than nothing"),
        pytest.param(
            {"estimator.request_rato": 1},
            "estimator.request_rato: unknown argument; did you mean 'estimator.request_ratio'?",
            id="a misspelling",
        ),
    ],
)
def test_what_cannot_be_used_is_told(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        usage_args(arguments)

    [found] = refused.value.problems
    assert found.partition(".arguments.")[2] == problem


def test_arguments_read_back_as_they_were() -> None:
    made = usage_args({"thresholds": {"CPUUsageAvg.1h": 80, "mem": 70}, "estimator.be_cpu": "1", "usage.period": "1h"})

    assert usage_args(yaml.safe_load(yaml.safe_dump(flat_arguments(made)))) == made
