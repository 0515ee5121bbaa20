"""minruntime: how long pods run before they may be evicted, whoever would evict them."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import aged
from tests.support.examples import examples
from tests.support.explained import explained
from tests.support.plans import NOW, manifests, mirror, plan, policy_from
from tests.support.taking import Busy, taking
from tests.support.worlds import World
from vsched.actions.words import may_evict_from
from vsched.explain.edits.policy import SetArgument
from vsched.explain.explaining import explain
from vsched.explain.why import words as told
from vsched.framework.cycle import run_cycle
from vsched.framework.points.victims import Purpose
from vsched.framework.policy import Policy
from vsched.model.pods.status import Status
from vsched.plugins.minruntime import MinRuntime, MinRuntimeArgs
from vsched.plugins.words.victims import MIN_RUNTIME
from vsched.settings.built_in import REGISTRY

PREEMPT, RECLAIM = "vsched.io/preempt-min-runtime", "vsched.io/reclaim-min-runtime"
ARGS = MinRuntimeArgs(preempt=60.0, reclaim=600.0, most=3600.0)
TREE = "queue root\nqueue dept parent=root\nqueue leaf parent=dept"


def until(text: str, pod: str, purpose: Purpose | None, args: MinRuntimeArgs = ARGS) -> float:
    """Until when a pod is protected, in seconds from now."""
    world = World(f"node n1 cpu=8\n{text}")
    return world.opened(MinRuntime(args)).protected_until(world.task(pod), purpose) - NOW


@pytest.mark.parametrize(
    ("text", "preempt", "reclaim"),
    [
        pytest.param("job ns/a\npods ns/a 1 on=n1 started=20", 40, 580, id="the times of the policy"),
        pytest.param(f"job ns/a {PREEMPT}=30s\npods ns/a 1 on=n1 started=20", 10, 580, id="its PodGroup's own time"),
        pytest.param(f"job ns/a {RECLAIM}=0s\npods ns/a 1 on=n1 started=20", 40, -NOW, id="none, by its own wish"),
        pytest.param(f"job ns/a {PREEMPT}=9h\npods ns/a 1 on=n1 started=20", 3580, 580, id="no more than is allowed"),
        pytest.param(
            f"queue q {PREEMPT}=2h\njob ns/a queue=q\npods ns/a 1 on=n1 started=20", 7180, 580, id="its queue's time"
        ),
        pytest.param(
            f"queue q {PREEMPT}=2h\njob ns/a queue=q {PREEMPT}=50s\npods ns/a 1 on=n1 started=20",
            30,
            580,
            id="its own before its queue's",
        ),
        pytest.param(
            f"{TREE.replace('dept parent', f'dept {RECLAIM}=30s parent')}\njob ns/a queue=leaf\n"
            "pods ns/a 1 on=n1 started=20",
            40,
            10,
            id="that of the nearest queue above that states one",
        ),
        pytest.param(
            f"{TREE.replace('root', f'root {PREEMPT}=30s', 1)}\njob ns/a queue=leaf\npods ns/a 1 on=n1 started=20",
            10,
            580,
            id="also that of the root",
        ),
        pytest.param("job ns/a\npods ns/a 1 on=n1 bound", inf, inf, id="a pod that has not started: no end is known"),
        pytest.param("job ns/a\npods ns/a 1 on=n1 age=20", 40, 580, id="a start that is not told: since it was made"),
        pytest.param(
            f"job ns/a {PREEMPT}=soon\npods ns/a 1 on=n1 started=20", 40, 580, id="what cannot be read is passed over"
        ),
    ],
)
def test_until_when_a_pod_is_protected(text: str, preempt: float, reclaim: float) -> None:
    assert until(text, "a.0", Purpose.PREEMPT) == preempt
    assert until(text, "a.0", Purpose.RECLAIM) == reclaim
    assert until(text, "a.0", None) == max(preempt, reclaim), "for no other job both hold"


def test_a_policy_without_times_protects_nobody() -> None:
    for purpose in (*Purpose, None):
        assert until("job ns/a\npods ns/a 1 on=n1 bound", "a.0", purpose, MinRuntimeArgs()) == -NOW


# -- actions

ROOM = "class high 10\nnode n1 cpu=2\n"
OLD_AND_NEW = "job ns/a phase=Running\npods ns/a 1 cpu=1 on=n1 started=90\npods ns/a 1 cpu=1 on=n1 started=30\n"
TIMES = {"minruntime": {"preemptMinRuntime": "1m", "reclaimMinRuntime": "2m"}}
SHARES = "queue own weight=1\nqueue other weight=1\n"


def policy(actions: str, tiers: tuple[str, ...] = (), victims: str = "") -> Policy:
    return taking(
        "enqueue, " + actions.removeprefix("enqueue, "),
        *(tiers or ("priority gang-P minruntime", "predicates proportion")),
        victims=victims,
        plugins=TIMES,
    )


@pytest.mark.parametrize(
    ("text", "chosen", "evicted"),
    [
        pytest.param(
            f"{ROOM}{OLD_AND_NEW}job ns/new pods=1 cpu=1 class=high",
            policy("preempt"),
            ["a.0"],
            id="preempt takes the pod that has run long enough",
        ),
        pytest.param(
            f"{ROOM}{OLD_AND_NEW}job ns/new min=2 pods=2 cpu=1 class=high",
            policy("preempt", ("priority gang-P minruntime", "predicates proportion")),
            [],
            id="preempt takes nobody in vain",
        ),
        pytest.param(
            f"{ROOM}{OLD_AND_NEW}job ns/new pods=1 cpu=1 class=high",
            policy("preempt", ("minruntime", "priority predicates"), victims="reference"),
            ["a.0"],
            id="a later tier does not overrule it, by Volcano's rule neither",
        ),
        pytest.param(
            f"{ROOM}{SHARES}{OLD_AND_NEW.replace('phase', 'queue=other phase')}job ns/new queue=own pods=1 cpu=1",
            policy("reclaim"),
            [],
            id="reclaim has a time of its own",
        ),
        pytest.param(
            f"{ROOM}{SHARES}{OLD_AND_NEW.replace('phase', 'queue=other phase').replace('=90', '=120')}"
            "job ns/new queue=own pods=1 cpu=1",
            policy("reclaim"),
            ["a.0"],
            id="when it is over, reclaim takes the pod",
        ),
        pytest.param(
            f"{ROOM}{OLD_AND_NEW.replace('phase', 'min=2 phase')}job ns/new pods=1 cpu=1 class=high",
            policy("gangpreempt"),
            [],
            id="a gang does not leave whole while one of its pods is protected",
        ),
        pytest.param(
            f"{ROOM}{OLD_AND_NEW.replace('phase', 'min=2 phase').replace('=30', '=60')}"
            "job ns/new pods=1 cpu=1 class=high",
            policy("gangpreempt"),
            ["a.0", "a.1"],
            id="it does once all of them have run long enough",
        ),
        pytest.param(
            f"{ROOM}{SHARES}{OLD_AND_NEW.replace('phase', 'min=2 queue=other phase').replace('=90', '=500')}"
            "job ns/new queue=own pods=1 cpu=1",
            policy("gangreclaim"),
            [],
            id="gangreclaim neither",
        ),
    ],
)
def test_who_is_evicted(text: str, chosen: Policy, evicted: list[str]) -> None:
    assert sorted(plan(text, chosen).evicted[0]) == evicted


def test_a_closed_zone_waits_for_the_longer_of_both_times() -> None:
    text = f"node n1 cpu=4 volcano.sh/revocable-zone=z\nnode n2 cpu=4\n{OLD_AND_NEW}".replace("phase", "age=9 phase")
    text = text.replace("started=90", "volcano.sh/preemptable=true started=120")
    text = text.replace("started=30", "volcano.sh/preemptable=true started=90")
    zones = '{"name": "tdm", "arguments": {"tdm.revocable-zone.z": "00:00-00:01"}}'
    times = '{"name": "minruntime", "arguments": {"preemptMinRuntime": "1m", "reclaimMinRuntime": "2m"}}'
    found = policy_from(f'{{"actions": "shuffle", "tiers": [{{"plugins": [{zones}, {times}]}}]}}')
    text = text.replace("job ns/a ", "job ns/a volcano.sh/jdb-min-available=0 ")

    assert plan(text, found).evicted == [["a.0"]]


def test_a_domain_where_pods_have_to_run_for_longer_is_not_freed() -> None:
    text = "class high 9\n" + "\n".join(f"node n{number} cpu=1 rack=r{number // 2}" for number in range(4))
    text += "".join(
        f"\njob ns/j{number} min=0 phase=Running\npods ns/j{number} 1 cpu=1 on=n{number} started={started}"
        for number, started in enumerate((900, 30, 900, 60))
    )
    close = taking(
        "enqueue, preempt",
        "priority gang-P minruntime network-topology-aware",
        "predicates",
        plugins=TIMES | {"network-topology-aware": {"hypernode.labels": [{"key": "rack"}]}},
    )

    found = plan(f"{text}\njob ns/new min=2 pods=2 cpu=1 class=high topology=hard tier=1", close)
    assert sorted(found.evicted[0]) == ["j2.0", "j3.0"]


def test_the_next_session_is_due_when_the_first_protection_ends() -> None:
    text = f"{ROOM}{OLD_AND_NEW.replace('=90', '=50')}job ns/new min=2 pods=2 cpu=1 class=high"

    assert plan(text, policy("preempt")).reports[0].due == NOW + 10
    assert plan(f"{ROOM}{OLD_AND_NEW}", policy("preempt")).reports[0].due == 0, "nobody would evict"


# -- words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            f"{ROOM}{OLD_AND_NEW.replace('=90', '=20')}job ns/b pods=1 cpu=1 class=high",
            may_evict_from("08:00:30", MIN_RUNTIME, reclaims=False) + "; ",
            id="until when",
        ),
        pytest.param(
            f"{ROOM}{OLD_AND_NEW.replace('=90', '=50')}job ns/b min=2 pods=2 cpu=2 class=high\nnode n2 cpu=1",
            may_evict_from("08:00:30", MIN_RUNTIME, reclaims=False) + "; ",
            id="until enough of them may be evicted",
        ),
        pytest.param(
            f"{ROOM}job ns/a phase=Running\npods ns/a 2 cpu=1 on=n1 bound\njob ns/b pods=1 cpu=1 class=high",
            told.protected(told.OTHERS_OF_QUEUE, 1, MIN_RUNTIME),
            id="without a time where none is known",
        ),
    ],
)
def test_what_protects_victims_and_until_when(text: str, message: str) -> None:
    found = explained(text, "ns/b", policy("enqueue, allocate, preempt"))

    assert any(one.message.startswith(message) for one in found.constraints)


@pytest.mark.parametrize(
    ("job", "notes"),
    [
        pytest.param(
            "job ns/a min=2 phase=Running\npods ns/a 1 cpu=1 on=n1 started=90\npods ns/a 1 cpu=1 on=n1 started=50",
            (
                told.not_evicted(1, 2, told.JOBS_OF_QUEUE, "until 08:00:10 UTC (in 10s)", MIN_RUNTIME),
                told.not_evicted(2, 2, "other queues", "until 08:01:10 UTC (in 70s)", MIN_RUNTIME),
            ),
            id="until when the last of its pods is protected",
        ),
        pytest.param("job ns/a phase=Running\npods ns/a 1 cpu=1 on=n1 started=900", (), id="nothing once it is over"),
        pytest.param(
            "job ns/a min=1 phase=Running vsched.io/preemptibility=semi-preemptible\n"
            "pods ns/a 3 cpu=500m on=n1 started=900",
            (told.semi_preemptible(2, 3),),
            id="what is beyond its minimum",
        ),
        pytest.param(
            "job ns/a phase=Running vsched.io/preemptibility=non-preemptible\npods ns/a 1 cpu=1 on=n1 started=900",
            (told.non_preemptible("others"),),
            id="no pod by its own wish",
        ),
    ],
)
def test_what_keeps_a_running_job_from_eviction(job: str, notes: tuple[str, ...]) -> None:
    assert explained(f"{ROOM}{job}", policy=policy("allocate, preempt")).notes == notes


def test_a_shorter_time_is_proposed() -> None:
    text = "class high 9\nnode n1 cpu=2\njob ns/a phase=Running\npods ns/a 2 cpu=1 on=n1 started=40"
    found = mirror(manifests(f"{text}\njob ns/b pods=1 cpu=2 class=high")).snapshot(NOW)
    chosen = policy("allocate, preempt")
    told = explain(found, chosen, REGISTRY, run_cycle(found, chosen, REGISTRY), "ns", "b")

    assert told is not None
    assert told.changes[0].edits == (SetArgument("minruntime", "preemptMinRuntime", 39.0),)


# -- properties

CYCLES = 3
ACTIONS = (
    "allocate, preempt, reclaim, backfill",
    "enqueue, allocate, reclaim, preempt",
    "gangpreempt, gangreclaim, allocate",
    "enqueue, allocate, gangreclaim, gangpreempt, shuffle",
)
LAYOUTS = (
    ("priority gang minruntime", "predicates proportion"),
    ("priority gang-P", "drf predicates capacity", "minruntime"),
    ("minruntime", "drf-P predicates proportion"),
)
often = settings(max_examples=examples(40), deadline=None)


def stated(chosen: Mapping[str, str], default: float, name: str) -> float:
    return float(chosen[name].rstrip("s")) if name in chosen else default


@often
@given(aged(), st.sampled_from(ACTIONS), st.sampled_from(LAYOUTS), st.sampled_from(["protection", "reference"]))
def test_no_action_evicts_a_pod_before_its_time(text: str, actions: str, layout: tuple[str, ...], how: str) -> None:
    world = Busy(text, policy(actions, layout, victims=how))
    for _ in range(CYCLES):
        before = world.snapshot()
        tasks = {task.uid: task for job in before.jobs.values() for task in job.tasks.values()}
        for eviction in world.cycle().evictions:
            victim, job = tasks[eviction.uid], before.jobs[eviction.job]
            within = eviction.beneficiary and before.jobs[eviction.beneficiary].spec.queue == job.spec.queue
            name, default = (PREEMPT, 60.0) if within else (RECLAIM, 120.0)
            said = [dict(job.spec.annotations)]
            at = job.spec.queue
            while at in before.queues:
                said.append(dict(before.queues[at].annotations))
                at = before.queues[at].parent
            least = next((stated(one, 0.0, name) for one in said if name in one), default)
            if least:
                assert victim.started or victim.status is Status.RUNNING
                assert NOW - (victim.started or victim.created) >= least, (victim.name, eviction)
