"""consolidate without a waiting job: a pod is moved now and then, so that free devices stay usable."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, check, manifests, mirror, policy_from
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

OLD = "owned started=3600"
SPREAD = f"""
    node n1 nvidia=8 cpu=64
    node n2 nvidia=8 cpu=64
    node n3 nvidia=8 cpu=64
    job ns/big min=1 phase=Running
    pods ns/big 1 nvidia=8 cpu=8 on=n3 {OLD}
    job ns/a min=1 phase=Running
    pods ns/a 1 nvidia=1 cpu=1 on=n1 {OLD}
    pods ns/a 1 nvidia=3 cpu=1 on=n2 {OLD}
"""
"""Pods of 8 GPUs come, and no node has 8: one pod beside the other would free a node."""


def policy(
    moves: object = 60, plugins: str = "predicates, fragmentation", actions: str = "allocate, consolidate"
) -> Policy:
    named = "".join(f"  - name: {name.strip()}\n" for name in f"priority, gang, {plugins}".split(","))
    told = f"configurations:\n- name: consolidate\n  arguments:\n    defragment: {{movesPerHour: {moves}}}\n"
    return policy_from(f'actions: "{actions}"\ntiers:\n- plugins:\n{named}{told}')


def decided(text: str, policy: Policy, *, previous: float = NOW - 60, now: float = NOW) -> CycleReport:
    """A session some time after another one."""
    cache = mirror(manifests(text))
    if previous:
        cache.snapshot(previous)
    snapshot = cache.snapshot(now)
    report = run_cycle(snapshot, policy, REGISTRY)
    check(snapshot, policy, report)
    return report


def test_a_pod_moves_to_where_it_is_in_the_way_of_nobody() -> None:
    [eviction] = decided(SPREAD, policy()).evictions
    assert (eviction.name, eviction.node, eviction.to, eviction.beneficiary) == ("a.0", "n1", "n2", "")
    assert eviction.action == "consolidate"


@pytest.mark.parametrize(
    ("text", "policy", "previous"),
    [
        pytest.param(SPREAD, policy(moves=0), NOW - 60, id="the policy does not ask for it"),
        pytest.param(SPREAD, policy(plugins="predicates"), NOW - 60, id="nobody says what moves are worth"),
        pytest.param(SPREAD, policy(), 0, id="nobody knows when the last session was"),
        pytest.param(
            SPREAD.replace("nvidia=3", "nvidia=8"), policy(), NOW - 60, id="there is no room for it elsewhere"
        ),
        pytest.param(SPREAD.replace("nvidia=1 cpu=1 on=n1", "cpu=1 on=n1"), policy(), NOW - 60, id="nothing is gained"),
        pytest.param(SPREAD.replace("owned", ""), policy(), NOW - 60, id="no controller makes new pods"),
        pytest.param(SPREAD + "pdb ns/all selector=job:a allowed=0", policy(), NOW - 60, id="a budget forbids it"),
    ],
)
def test_no_pod_is_moved(text: str, policy: Policy, previous: float) -> None:
    assert decided(text, policy, previous=previous).evictions == ()


def test_no_more_are_moved_than_the_policy_says_and_a_session_comes_when_the_next_one_is_due() -> None:
    report = decided(SPREAD, policy(moves=4), previous=NOW + 1, now=NOW + 2)
    assert report.evictions == ()
    assert report.due == NOW + 900
    assert len(decided(SPREAD, policy(moves=4), previous=NOW + 2, now=NOW + 900).evictions) == 1


def test_a_waiting_job_goes_first() -> None:
    text = f"{SPREAD}\njob ns/want pods=1 nvidia=8 cpu=1 phase=Inqueue"
    [eviction] = decided(text, policy()).evictions
    assert (eviction.name, eviction.beneficiary) == ("a.0", "ns/want")


def test_an_argument_without_its_plugin_is_told() -> None:
    text = "actions: allocate, consolidate\ntiers:\n- plugins: [{name: gang}]\nconfigurations:\n- name: consolidate\n"
    found = load_text(f"{text}  arguments:\n    defragment:\n      movesPerHour: 4\n", "policy.yaml", REGISTRY)
    assert any("policy.yaml:8" in one and "fragmentation" in one for one in found.no_effect), found.no_effect
