"""Whole cycles over random clusters of every kind: the checker finds nothing, and what is the same is decided alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.proof.brute import spared
from tests.support import claim_cases
from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.kinds import KINDS, Case, case_of
from tests.support.plans import NOW, decide, manifests, mirror, plan, reading
from vsched.framework.cycle import run_cycle
from vsched.model.maps import as_dict
from vsched.model.plan import CycleReport
from vsched.proof.cycle import Cycle
from vsched.proof.verify import verify
from vsched.settings.built_in import REGISTRY
from vsched.settings.proving import facts_of

CYCLES = 3


def cases(*kinds: str) -> st.SearchStrategy[Case]:
    """Clusters of these kinds, with policies that are about them."""
    return st.builds(case_of, seeded, st.sampled_from(kinds))


def violations(case: Case) -> list[str]:
    """What the checker finds, cycle by cycle."""
    cache, found = mirror(manifests(case.text)), list[str]()
    cache.inputs.use(reading(case.text))
    for number in range(CYCLES):
        snapshot = cache.snapshot(NOW)
        report = run_cycle(snapshot, case.policy, REGISTRY)
        findings = verify(snapshot, facts_of(case.policy), report)
        found += [f"cycle {number}, {one.rule}: {text}" for one in findings for text in one.violations]
        cache.settle(report)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_decision_keeps_the_rules(kind: str) -> None:
    @given(cases(kind))
    @settings(max_examples=examples(100))
    def holds(case: Case) -> None:
        assert violations(case) == []

    holds()


@given(st.builds(case_of, seeded, st.sampled_from(("preempt", "reclaim", "flat", "tree")), size=st.integers(1, 2)))
@settings(max_examples=examples(200))
def test_no_victim_of_equal_pods_is_spared_by_placing_them_otherwise(case: Case) -> None:
    snapshot = mirror(manifests(case.text)).snapshot(NOW)
    report = run_cycle(snapshot, case.policy, REGISTRY)

    assert list(spared(Cycle(snapshot, facts_of(case.policy), report))) == []


@given(claim_cases.cases())
@settings(max_examples=examples(100))
def test_decisions_about_claims_keep_the_rules(case: claim_cases.Case) -> None:
    snapshot, report = case.report()

    assert [one for one in verify(snapshot, facts_of(claim_cases.POLICY), report) if one.violations] == []


@given(cases(*KINDS), seeded)
@settings(max_examples=examples(200))
def test_objects_in_any_order_give_the_same_bytes(case: Case, random: Random) -> None:
    objects, usage = manifests(case.text), reading(case.text)
    shuffled = random.sample(objects, len(objects))

    first, second = (decide(each, case.policy, cycles=CYCLES, usage=usage).reports for each in (objects, shuffled))

    assert as_bytes(first) == as_bytes(second)


@given(cases(*KINDS))
@settings(max_examples=examples(200))
def test_a_thousand_times_as_much_of_all_is_decided_alike(case: Case) -> None:
    found, larger = (plan(text, case.policy, cycles=CYCLES).reports for text in (case.text, times(case.text, 1000)))

    assert decisions(found) == decisions(larger)


def as_bytes(reports: Sequence[CycleReport]) -> bytes:
    return msgspec.json.encode(reports, order="sorted", enc_hook=as_dict)


def times(text: str, factor: int) -> str:
    """The cluster with so many times as much cpu and memory, in nodes, pods and queues."""

    def more(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) * factor}"

    lines = text.splitlines()
    return "\n".join(
        line if line.startswith("usage ") else re.sub(r"((?:cpu|memory)[:=])([0-9]+)", more, line) for line in lines
    )


def decisions(reports: Sequence[CycleReport]) -> list[Any]:
    return [(one.binds, one.evictions, one.nominations) for one in reports]
