"""``vsched bench-usage``: the workload, the two policies, the figures, and the whole of it, small."""

from __future__ import annotations

import re
from typing import Any

import pytest
from click.testing import CliRunner

from vsched.cli import cli
from vsched.errors import BadInput
from vsched.lab.bench.usage import GANG, PERIODS, UsageBenchSettings, as_table, figures, measure, policy_text, workload
from vsched.lab.bench.words import usage as words
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

SMALL = UsageBenchSettings(nodes=3, filled=0.3, seconds=1.0, source="prometheus_adaptor", seed=1)


@pytest.mark.parametrize("source", PERIODS)
def test_the_policies_differ_in_usage_alone(source: str) -> None:
    without = load_text(policy_text(source, with_usage=False), "policy", REGISTRY)
    with_it = load_text(policy_text(source, with_usage=True), "policy", REGISTRY)
    names = [conf.name for conf in with_it.policy.plugins()]
    assert [name for name in names if name != "usage"] == [conf.name for conf in without.policy.plugins()]
    assert "usage" in names
    assert with_it.policy.usage_periods() == (PERIODS[source],)
    assert without.metrics is None
    assert with_it.metrics is not None
    assert with_it.metrics.kind == source


def test_equal_settings_give_equal_pods_and_other_seeds_others() -> None:
    assert workload(SMALL) == workload(SMALL)
    assert workload(SMALL) != workload(SMALL._replace(seed=2))
    gangs = workload(SMALL)
    assert [len(objects) for objects in gangs] == [1 + GANG] * SMALL.gangs
    for _, *pods in gangs:
        assert len({pod["metadata"]["annotations"]["vsched.io/cpu-usage"] for pod in pods}) == 1


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([0.5, 0.5], {"mean": 0.5, "max": 0.5, "min": 0.5, "variation": 0.0, "crowded": 0}, id="even"),
        pytest.param([0.1, 0.9], {"mean": 0.5, "max": 0.9, "min": 0.1, "variation": 0.8, "crowded": 1}, id="uneven"),
        pytest.param([0.0, 0.0], {"mean": 0.0, "max": 0.0, "min": 0.0, "variation": 0.0, "crowded": 0}, id="idle"),
    ],
)
def test_figures(shares: list[float], expected: dict[str, float]) -> None:
    assert figures(shares) == expected


def test_both_runs_are_measured() -> None:
    result: dict[str, Any] = measure(SMALL, window_seconds=1.0)
    assert (result["nodes"], result["pods"]) == (3, SMALL.gangs * GANG)
    for run in ("without", "with"):
        assert 0 < result[run]["cpu"]["min"] <= result[run]["cpu"]["mean"] <= result[run]["cpu"]["max"] < 1
        assert result[run]["fewest_pods"] >= 1
    assert as_table(result).row_count > 5


def test_no_pods_at_all_are_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput, match=re.escape(words.no_gang(0.05, GANG))):
        measure(SMALL._replace(nodes=2, filled=0.05))


def test_help_shows_an_example() -> None:
    result = CliRunner().invoke(cli, ["bench-usage", "--help"])
    assert result.exit_code == 0
    assert "vsched bench-usage --source metrics_server\n" in result.output
