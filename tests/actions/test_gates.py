"""Gates of queues: who is let in, in which order, and for whom room is kept until there is a node."""

from __future__ import annotations

import pytest
import yaml

from tests.support.plans import DEFAULT_POLICY, Manifest, decide, manifests, mirror, policy_of
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.ingest.annotations import QUEUE_GATE
from vsched.mirror.ingest.pod_status import LET_IN
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

CAPACITY = policy_of("priority gang", "capacity predicates")
PROPORTION = policy_of("priority gang", "proportion predicates")
TREE = load_text(
    yaml.safe_dump(
        {
            "actions": "enqueue, allocate, reclaim",
            "tiers": [
                {"plugins": [{"name": "gang"}]},
                {"plugins": [{"name": "capacity", "enableHierarchy": True}, {"name": "predicates"}]},
            ],
        }
    ),
    "policy",
    REGISTRY,
).policy
KEPT = f"{QUEUE_GATE}=true"
"""Of a pod that was let in: it asks for the gate and has none, and we have said so."""
UNGATED = f"{KEPT} labels=let-in:by-itself"
"""Of a pod that asks for the gate and has none, as whoever makes it can say."""
SHUT = f"{KEPT} gated"


def at_gates(text: str) -> list[Manifest]:
    """The cluster of a text; the gates of pods that ask for it are those of their queue. Who has none was let in."""
    found = manifests(text)
    for pod in found:
        if pod["kind"] == "Pod" and QUEUE_GATE in pod["metadata"]["annotations"]:
            for gate in pod["spec"]["schedulingGates"]:
                gate["name"] = QUEUE_GATE
            if not pod["spec"]["schedulingGates"] and "let-in" not in pod["metadata"]["labels"]:
                pod["status"].setdefault("conditions", []).append({"type": LET_IN, "status": "True"})
    return found


def cycle(text: str, policy: Policy = CAPACITY) -> CycleReport:
    return run_cycle(mirror(at_gates(text)).snapshot(1e9), policy, REGISTRY)


def let_in(text: str, policy: Policy = CAPACITY) -> list[str]:
    return [ungate.name for ungate in cycle(text, policy).ungated]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"job ns/a min=1 pods=1 cpu=1 {SHUT}", ["a.0"], id="one for whom there is room"),
        pytest.param(f"job ns/a min=1 pods=3 cpu=2 {SHUT}", ["a.0", "a.1"], id="as many as there is room for"),
        pytest.param(
            f"job ns/a min=1\npods ns/a 1 cpu=3 {SHUT}\npods ns/a 2 cpu=2 {SHUT}", ["a.0"], id="in their order"
        ),
        pytest.param(
            f"job ns/a min=1\npods ns/a 1 cpu=5 {SHUT}\npods ns/a 1 cpu=1 {SHUT}", ["a.1"], id="past one too large"
        ),
        pytest.param(
            f"job ns/a min=1 pods=1 cpu=3 {SHUT}\njob ns/b min=1 pods=1 cpu=3 class=high {SHUT}\nclass high 9",
            ["b.0"],
            id="of the job that goes first",
        ),
        pytest.param(f"job ns/a min=3 pods=3 cpu=2 {SHUT}", [], id="not a gang by halves"),
        pytest.param(f"job ns/a min=2 pods=2 cpu=2 {SHUT}", ["a.0", "a.1"], id="a gang that fits"),
        pytest.param(
            f"job ns/a min=1\npods ns/a 1 cpu=2 on=n1\npods ns/a 2 cpu=2 {SHUT}", ["a.1"], id="beside what runs"
        ),
        pytest.param(
            f"job ns/a min=1\npods ns/a 1 cpu=2 selector=zone:z {KEPT}\npods ns/a 2 cpu=2 {SHUT}",
            ["a.1"],
            id="beside what was let in and waits for a node",
        ),
        pytest.param(
            f"job ns/a min=1\npods ns/a 2 cpu=2\npods ns/a 1 cpu=2 {SHUT}", ["a.2"], id="before what is placed after it"
        ),
        pytest.param(f"job ns/a min=1 pods=1 cpu=1 minResources=cpu:1 {SHUT}", ["a.0"], id="of a job just admitted"),
        pytest.param(f"job ns/a min=1 pods=1 cpu=1 minResources=cpu:5 {SHUT}", [], id="not of a job not admitted"),
        pytest.param(f"job ns/a min=2 pods=1 cpu=1 {SHUT}", [], id="not of a job with too few pods"),
        pytest.param(
            f"job ns/a min=1 subGroups=w:2:1\npods ns/a 1 cpu=2 labels=w:x {SHUT}\npods ns/a 2 cpu=2 labels=w:y {SHUT}",
            ["a.1", "a.2"],
            id="the sub-groups that the job needs first",
        ),
        pytest.param(f"job ns/a min=1 pods=1 cpu=1 queue=shut {SHUT}", [], id="not of a queue that is closed"),
        pytest.param(f"job ns/a min=1 pods=1 cpu=1 {QUEUE_GATE}=false gated", [], id="not who does not ask for it"),
        pytest.param(f"job ns/a min=1 pods=1 cpu=1 on=n1 {SHUT}", [], id="not who has a node"),
    ],
)
def test_who_is_let_into_a_queue_of_four_cores(text: str, expected: list[str]) -> None:
    assert let_in(f"node n1 cpu=8\nqueue default capability=cpu:4\nqueue shut state=Closed\n{text}") == expected


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        pytest.param(1, [], id="nobody where as many jobs run as may"),
        pytest.param(2, ["a.0"], id="one where another job may start"),
    ],
)
def test_who_is_let_in_where_running_jobs_are_limited(most: int, expected: list[str]) -> None:
    policy = policy_of("priority gang job-limits", "predicates")
    running = "job ns/old phase=Running\npods ns/old 1 cpu=1 on=n1"
    text = f"queue default vsched.io/max-running-jobs={most}\n{running}\njob ns/a min=1 pods=1 cpu=1 {SHUT}"
    assert let_in(f"node n1 cpu=8\n{text}", policy) == expected


def test_what_a_pod_at_the_gate_waits_for_is_said_on_its_job() -> None:
    text = f"node n1 cpu=8\nqueue default capability=cpu:2\njob ns/a min=1 phase=Inqueue pods=1 cpu=3 {SHUT}"
    outcome = cycle(text).jobs["ns/a"]
    assert outcome.message == "queue default may hold 2 cpu at most: 3 asked"


ROOM = "node n1 cpu=8\nqueue default capability=cpu:4\njob ns/old min=1 phase=Inqueue\n"


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param(f"pods ns/old 1 cpu=3 selector=zone:z {KEPT}", [], id="nobody else gets the room"),
        pytest.param("pods ns/old 1 cpu=3 selector=zone:z", ["new.0"], id="unless it was not let in by a gate"),
        pytest.param(f"pods ns/old 1 cpu=3 selector=zone:z {UNGATED}", ["new.0"], id="nor does it say so itself"),
        pytest.param(f"pods ns/old 1 cpu=900 {KEPT}", ["new.0"], id="not more than the queue may hold"),
        pytest.param(
            f"pods ns/old 1 cpu=2 selector=zone:z {KEPT}\npods ns/old 1 cpu=900 age=9 {KEPT}",
            ["new.0"],
            id="nor in place of what it may hold",
        ),
        pytest.param(f"pods ns/old 1 cpu=3 on=n1 {KEPT}", [], id="once placed it holds what was kept, and no more"),
        pytest.param(f"pods ns/old 1 cpu=2 {KEPT}", ["new.0", "old.0"], id="nor is it in the way once it is placed"),
        pytest.param(f"pods ns/old 2 cpu=2 {KEPT}", ["old.0", "old.1"], id="it does not stand in its own way"),
        pytest.param(
            f"pods ns/old 1 cpu=2 {KEPT}\npods ns/old 1 cpu=2 selector=zone:z {KEPT}",
            ["old.0"],
            id="nor does one that is placed free the room of one that is not",
        ),
    ],
)
def test_room_is_kept_for_pods_that_were_let_in(text: str, bound: list[str]) -> None:
    report = cycle(f"{ROOM}{text}\njob ns/new min=1 phase=Inqueue age=9 pods=1 cpu=2")
    assert sorted(bind.name for bind in report.binds) == bound


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(CAPACITY, ["a.0", "a.1", "b.0", "b.1"], id="capacity"),
        pytest.param(PROPORTION, ["a.0", "a.1", "b.0", "b.1"], id="proportion"),
    ],
)
def test_each_queue_lets_in_within_its_own_part(policy: Policy, expected: list[str]) -> None:
    queues = "queue a capability=cpu:4\nqueue b capability=cpu:4\n"
    jobs = "\n".join(f"job ns/{name} min=1 phase=Inqueue queue={name} pods=3 cpu=2 {SHUT}" for name in "ab")
    assert sorted(let_in(f"node n1 cpu=8\n{queues}{jobs}", policy)) == expected


@pytest.mark.parametrize("policy", [CAPACITY, PROPORTION, DEFAULT_POLICY], ids=["capacity", "proportion", "default"])
@pytest.mark.parametrize("asks", [UNGATED, KEPT], ids=["says that it was let in", "was let in when there was room"])
def test_one_pod_does_not_shut_a_queue_for_everybody(asks: str, policy: Policy) -> None:
    text = f"node n1 cpu=48\njob evil/one pods=1 cpu=900 {asks}\njob team/g min=2 pods=2 cpu=16"
    assert decide(at_gates(text), policy).bound == {"g": 2}


def test_in_a_tree_the_room_is_kept_in_the_queues_above_too() -> None:
    tree = "queue root\nqueue top parent=root capability=cpu:4\nqueue a parent=top\nqueue b parent=top\n"
    kept = f"job ns/a min=1 phase=Inqueue queue=a pods=1 cpu=3 selector=zone:z {KEPT}\n"
    other = f"job ns/b min=1 phase=Inqueue queue=b pods=2 cpu=1 {SHUT}"
    assert let_in(f"node n1 cpu=8\n{tree}{kept}{other}", TREE) == ["b.0"]


def test_without_a_plugin_that_limits_queues_everybody_is_let_in() -> None:
    text = f"node n1 cpu=1\njob ns/a min=1 phase=Inqueue pods=3 cpu=2 {SHUT}"
    assert let_in(text, policy_of("gang", "predicates")) == ["a.0", "a.1", "a.2"]


def test_a_plan_over_several_cycles_places_who_was_let_in() -> None:
    text = f"node n1 cpu=8\njob ns/a min=2 phase=Inqueue pods=2 cpu=2 {SHUT}"
    assert decide(at_gates(text), DEFAULT_POLICY, cycles=1).bound == {}
    assert decide(at_gates(text), DEFAULT_POLICY, cycles=2).bound == {"a": 2}


def test_what_was_decided_is_not_decided_again_until_it_is_known_to_have_failed() -> None:
    cache = mirror(at_gates(f"node n1 cpu=8\nqueue default capability=cpu:2\njob ns/a min=1 pods=2 cpu=2 {SHUT}"))
    first = run_cycle(cache.snapshot(1e9), CAPACITY, REGISTRY)
    cache.assumptions.assume(first)
    second = run_cycle(cache.snapshot(1e9), CAPACITY, REGISTRY)
    assert ([ungate.name for ungate in first.ungated], second.ungated, second.binds) == (["a.0"], (), ())
    cache.assumptions.assume(second)
    cache.assumptions.ungate_failed(first.ungated[0].uid)
    cache.assumptions.ungate_failed(first.ungated[0].uid)
    third = run_cycle(cache.snapshot(1e9), CAPACITY, REGISTRY)
    assert third.ungated == first.ungated
