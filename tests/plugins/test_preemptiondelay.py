"""preemption-delay: how long a job waits before others are evicted for it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import aged
from tests.support.examples import examples
from tests.support.explained import explained
from tests.support.plans import NOW, manifests, mirror, plan
from tests.support.taking import Busy, taking
from tests.support.worlds import World
from vsched.explain.edits.policy import SetArgument
from vsched.explain.explaining import explain
from vsched.explain.why.words import may_evict_later
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.plugins.preemptiondelay import PreemptionDelay, PreemptionDelayArgs
from vsched.plugins.words import victims
from vsched.settings.built_in import REGISTRY

DELAY = "vsched.io/preemption-delay"


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        pytest.param("job ns/a age=20\npods ns/a 1 age=20", 40, id="the delay of the policy, from its creation"),
        pytest.param("job ns/a age=20\npods ns/a 1 age=90", 40, id="that of the job, if its pods are older"),
        pytest.param(
            "job ns/a age=500\npods ns/a 1 age=9\npods ns/a 1 age=50", 51, id="that of its newest waiting pod"
        ),
        pytest.param(
            "job ns/a age=500\npods ns/a 1 age=9 on=n1\npods ns/a 1 age=2 gated\npods ns/a 1 age=50",
            10,
            id="pods with a node or a gate do not count",
        ),
        pytest.param(f"job ns/a age=20 {DELAY}=5m\npods ns/a 1 age=20", 280, id="its own delay"),
        pytest.param(
            f"queue q {DELAY}=1h\njob ns/a queue=q age=20 {DELAY}=0s\npods ns/a 1", -NOW, id="none of its own"
        ),
        pytest.param(f"queue q {DELAY}=2m\njob ns/a queue=q age=20\npods ns/a 1 age=20", 100, id="that of its queue"),
        pytest.param(
            f"queue d {DELAY}=2m\nqueue q parent=d\njob ns/a queue=q age=20\npods ns/a 1 age=20",
            100,
            id="that of the queue above",
        ),
        pytest.param(f"job ns/a age=20 {DELAY}=x\npods ns/a 1 age=20", 40, id="what cannot be read is passed over"),
    ],
)
def test_from_when_on_a_job_may_evict(text: str, begin: float) -> None:
    world = World(f"node n1 cpu=8\n{text}")
    plugin = world.opened(PreemptionDelay(PreemptionDelayArgs(60.0)))

    assert plugin.may_evict_from(world.jobs["ns/a"]) - NOW == begin


# -- actions

DELAYED = {"preemption-delay": {"preemptionDelay": "1m"}}
ROOM = "class high 9\nnode n1 cpu=2\nqueue own\nqueue other\n"


def policy(actions: str, *tiers: str, victims: str = "") -> Policy:
    chosen = tiers or ("priority gang-P preemption-delay", "predicates proportion")
    return taking(f"enqueue, {actions}", *chosen, victims=victims, plugins=DELAYED)


@pytest.mark.parametrize(
    ("chosen", "queue"),
    [
        pytest.param(policy("preempt"), "other", id="preempt"),
        pytest.param(policy("reclaim"), "own", id="reclaim"),
        pytest.param(policy("gangpreempt"), "other", id="gangpreempt"),
        pytest.param(policy("gangreclaim"), "own", id="gangreclaim"),
        pytest.param(
            policy("preempt", "preemption-delay", "priority gang-P", "predicates", victims="reference"),
            "other",
            id="whatever the tiers are",
        ),
    ],
)
def test_nobody_is_evicted_before_the_delay_is_over(chosen: Policy, queue: str) -> None:
    text = f"{ROOM}job ns/a min=0 queue=other phase=Running\npods ns/a 2 cpu=1 on=n1\n"
    early, late = (f"job ns/new queue={queue} pods=1 cpu=1 class=high age={age}" for age in (59, 60))

    waits = plan(f"{text}{early}", chosen)
    assert waits.evicted == [[]]
    assert waits.reports[0].due == NOW + 1
    assert len(plan(f"{text}{late}", chosen).evicted[0]) == 1


def test_idle_room_is_used_without_delay() -> None:
    text = (
        f"{ROOM}job ns/a min=0 queue=other phase=Running\npods ns/a 1 cpu=1 on=n1\njob ns/new pods=1 cpu=1 class=high"
    )

    assert plan(text, policy("allocate, preempt")).bound == {"new": 1}


# -- words

FULL = f"{ROOM}job ns/b min=0 phase=Running\npods ns/b 2 cpu=1 on=n1\njob ns/a pods=1 cpu=1 class=high age=20"


def test_it_is_told_when_a_job_may_evict() -> None:
    found = explained(FULL, policy=policy("allocate, preempt"))

    message = may_evict_later(victims.DELAYED, "08:00:40 UTC (in 40s)")
    assert [one.message for one in found.constraints].count(message) == 1


def test_a_shorter_delay_is_proposed() -> None:
    found, chosen = mirror(manifests(FULL)).snapshot(NOW), policy("allocate, preempt")
    told = explain(found, chosen, REGISTRY, run_cycle(found, chosen, REGISTRY), "ns", "a")

    assert told is not None
    assert told.changes[0].edits == (SetArgument("preemption-delay", "preemptionDelay", 18.0),)


# -- properties

often = settings(max_examples=examples(30), deadline=None)
ACTIONS = ("preempt, reclaim, allocate", "gangpreempt, gangreclaim, allocate", "allocate, reclaim, preempt, backfill")


@often
@given(aged(), st.sampled_from(ACTIONS), st.lists(st.integers(0, 120), min_size=12, max_size=12))
def test_no_job_evicts_before_its_delay_is_over(text: str, actions: str, ages: list[int]) -> None:
    lines = []
    for number, line in enumerate(text.splitlines()):
        waits = line.startswith("job ") or (line.startswith("pods ") and " on=" not in line)
        lines.append(f"{line} age={ages[number % 12]}" if waits else line)
    world = Busy("\n".join(lines), policy(actions, "priority gang preemption-delay", "predicates proportion"))
    for _ in range(2):
        before = world.snapshot()
        for eviction in world.cycle().evictions:
            job = before.jobs[eviction.beneficiary]
            assert NOW - job.spec.created >= 60.0
            assert all(NOW - task.created >= 60.0 for task in job.pending.values() if not task.gated)
