"""Who is taken from, and for whom, over twelve cycles: what is evicted is gone, and what is bound runs.

Each case of ``tests/data/taking`` is a cluster and a policy, and is run as ``vsched plan --cycles 12`` does.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from vsched.api.manifests import Origin, decode_manifests
from vsched.cli.plan.live import OUR_NAMES
from vsched.cli.plan.on_paper import decide_on_paper
from vsched.cli.plan.view import Document, as_document
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

FOLDER = Path(__file__).parent.parent / "data" / "taking"
A100, V100 = "nvidia.com/a100", "nvidia.com/v100"


def plan_of(name: str, *, victims: str = "protection") -> Document:
    policy = yaml.safe_load((FOLDER / f"{name}-policy.yaml").read_text(encoding="utf-8"))
    policy["configurations"] = [
        {"name": action, "arguments": {"victimTiers": victims}} for action in ("preempt", "reclaim")
    ]
    settings = load_text(yaml.safe_dump(policy), name, REGISTRY)
    objects = yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    manifests = decode_manifests((Origin(name, str(at)), found) for at, found in enumerate(objects))
    return as_document(decide_on_paper(manifests, settings.policy, OUR_NAMES, cycles=12, now=1.8e9).planned)


def evicted(plan: Document) -> list[str]:
    return sorted(eviction["pod"] for cycle in plan["cycles"] for eviction in cycle["evictions"])


def held(plan: Document, queue: str) -> dict[str, str]:
    found: dict[str, str] = plan["queues"][queue]["allocated"]
    return {resource: amount for resource, amount in found.items() if resource not in ("memory", "pods")}


def quiet_from(plan: Document) -> int:
    """The first cycle from which nothing happens any more."""
    busy = [at for at, cycle in enumerate(plan["cycles"]) if cycle["binds"] or cycle["evictions"]]
    return max(busy, default=-1) + 1


def test_who_deserves_nothing_loses_before_anybody_loses_what_it_deserves_whatever_the_tier() -> None:
    plan = plan_of("deserved-in-a-later-tier")

    assert evicted(plan) == [f"x/tc{number:03}-0" for number in range(10)]
    assert (held(plan, "q1"), held(plan, "q2"), held(plan, "q3")) == ({A100: "10"}, {A100: "10"}, {})


def test_as_in_volcano_the_first_tier_that_names_victims_decides_on_demand() -> None:
    plan = plan_of("deserved-in-a-later-tier", victims="reference")

    assert evicted(plan) == [*(f"x/el-{number}" for number in range(1, 10)), "x/tc009-0"]


def test_a_gang_that_runs_keeps_its_minimum_whatever_the_tier() -> None:
    assert evicted(plan_of("gang-in-an-earlier-tier")) == []


def test_as_in_volcano_a_later_tier_takes_from_a_gangs_minimum_on_demand() -> None:
    assert evicted(plan_of("gang-in-an-earlier-tier", victims="reference")) == ["ns2/g-2", "ns2/g-3", "ns2/g-4"]


def test_room_that_one_job_counts_on_is_not_there_for_another() -> None:
    first, second, *others = plan_of("room-counted-on")["cycles"]

    assert [(bind["pod"], bind["node"]) for bind in first["binds"]] == [("a/first-1", "n2")]
    assert [(eviction["pod"], eviction["for"]) for eviction in first["evictions"]] == [("a/run-4", "a/second")]
    assert [bind["pod"] for bind in second["binds"]] == ["a/second-1"]
    assert not any(cycle["binds"] or cycle["evictions"] for cycle in others)


def test_what_is_deserved_of_one_type_comes_back_as_that_of_the_other_does() -> None:
    plan = plan_of("two-types")

    assert held(plan, "q1") == held(plan, "q2") == {A100: "1", V100: "1"}
    assert len(evicted(plan)) == 2


def test_a_capability_of_no_cores_is_a_limit() -> None:
    plan = plan_of("no-cores")

    assert quiet_from(plan) == 0
    assert held(plan, "q1") == {}


def test_victims_are_of_queues_that_hold_too_much_of_what_is_lacking() -> None:
    plan = plan_of("more-of-another-resource")

    assert evicted(plan) == [f"x/ta00{number}-0" for number in range(5)]
    assert held(plan, "q1") == {A100: "20", "cpu": "30"}
    assert held(plan, "q2") == {A100: "10"}


def test_what_is_guaranteed_below_a_parent_is_not_lent_to_those_beside_it() -> None:
    plan = plan_of("guarantee-below-a-parent")

    assert held(plan, "u2") == {A100: "85"}
    assert evicted(plan) == []


def test_an_elastic_job_takes_back_what_its_queue_deserves_and_no_more() -> None:
    plan = plan_of("elastic")

    assert (held(plan, "q1"), held(plan, "q2")) == ({A100: "2"}, {A100: "6"})
    assert len(evicted(plan)) == 6
    assert quiet_from(plan) == 2
