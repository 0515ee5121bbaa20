"""``vsched plan --arbitrate`` on whole clusters: what must come out after many cycles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from vsched.arbitrator import words as arbitrator_words
from vsched.cli import cli
from vsched.model import words as model_words

DATA = Path(__file__).parents[2] / "data" / "arbitration"


def planned(name: str, *flags: str, cycles: int = 12) -> dict[str, Any]:
    arguments = ["plan", "-f", str(DATA / f"{name}.yaml"), "--arbitrate", *flags, "--cycles", str(cycles), "-o", "json"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def held(document: dict[str, Any], resource: str = "cpu") -> dict[str, str]:
    return {name: one["allocated"].get(resource, "0") for name, one in document["allocations"].items()}


def evicted(document: dict[str, Any]) -> list[str]:
    return [one["pod"] for cycle in document["cycles"] for one in cycle["evictions"]]


@pytest.mark.parametrize("flags", [(), ("--arbitrate-grace", "10s")], ids=["at once", "after a grace"])
def test_what_is_idle_is_lent_once_however_many_ask_for_it(flags: tuple[str, ...]) -> None:
    document = planned("lent-once", *flags)

    assert evicted(document) == []
    assert held(document) == {"a": "3", "b": "2", "c": "5"}


def test_a_bucket_holds_no_more_than_it_may_while_one_that_is_over_has_its_grace() -> None:
    document = planned("bucket-hard", "--arbitrate-grace", "10s")

    assert held(document) == {"t1": "3", "t2": "1"}
    assert document["unschedulable"]["t2/b0"]["message"] == model_words.would_hold_too_much("bucket area", "4 cpu", "5")


def test_a_budget_is_kept_up_to_date_from_cycle_to_cycle() -> None:
    document = planned("budget", cycles=20)

    assert evicted(document) == ["a/p000"]
    assert held(document) == {"a": "11", "b": "1"}


def test_who_holds_more_than_its_limit_is_overused_whoever_is_short() -> None:
    document = planned("over-hard")

    assert document["allocations"]["a"]["overused"]["message"] == arbitrator_words.beyond_own_limit("8 cpu")
    assert "overused" not in document["allocations"]["b"]
    assert evicted(document) == [], "nobody waits for its room"
    assert held(document) == {"a": "12", "b": "0"}
