"""allocate: gangs whole or not at all, one more task a turn after that, and what waits for others to leave."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.support.plans import DEFAULT_POLICY, Manifest, decide, manifests, mirror, plan, policy_of
from vsched.actions.words import queue_overused
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import available
from vsched.mirror.ingest.annotations import QUEUE_GATE
from vsched.mirror.ingest.pod_status import LET_IN
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

GANGS = policy_of("priority gang", "predicates nodeorder")
"""Without fair shares: nothing but room, priority and minima decide."""


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("job ns/a min=3 pods=3 cpu=1", {"a": 3}, id="a gang that fits is bound whole"),
        pytest.param("job ns/a min=5 pods=5 cpu=1", {}, id="a gang that does not fit is not bound at all"),
        pytest.param("job ns/a min=3 pods=6 cpu=1", {"a": 4}, id="beyond its minimum a gang takes what there is"),
        pytest.param("job ns/a min=0 pods=2 cpu=1", {"a": 2}, id="a job without a minimum is bound task by task"),
        pytest.param("job ns/a min=3 pods=2 cpu=1", {}, id="a gang with fewer pods than its minimum waits"),
        pytest.param("job ns/a min=3\npods ns/a 2 cpu=1 on=n1\npods ns/a 1 cpu=1", {"a": 1}, id="pods that run count"),
        pytest.param(
            "job ns/a min=3\npods ns/a 2 on=n1 succeeded\npods ns/a 1 cpu=1", {"a": 1}, id="pods that succeeded count"
        ),
        pytest.param("job ns/a min=3\npods ns/a 2 on=n1 failed\npods ns/a 1 cpu=1", {}, id="pods that failed do not"),
        pytest.param(
            "job ns/a min=3\npods ns/a 2 cpu=1 on=n1 leaving\npods ns/a 1 cpu=1", {}, id="pods that leave do not"
        ),
        pytest.param(
            "job ns/big min=5 pods=5 cpu=1 age=9\njob ns/small min=2 pods=2 cpu=2",
            {"small": 2},
            id="a gang that does not fit takes nothing from the next",
        ),
        pytest.param("job ns/a min=2 pods=2 cpu=1\npods ns/a 1 cpu=1 gated", {"a": 2}, id="a gated pod is not placed"),
        pytest.param(
            "job ns/a min=3 pods=2 cpu=1\npods ns/a 1 cpu=1 gated", {}, id="a gang whose minimum is gated waits"
        ),
        pytest.param("job ns/a min=1 pods=1 cpu=1 queue=nowhere", {}, id="a job of an unknown queue is left out"),
        pytest.param(
            "job ns/a min=1 pods=2 cpu=1\nnode n2 cpu=4 cordoned", {"a": 2}, id="a cordoned node is passed over"
        ),
        pytest.param("job ns/a min=1 pods=1 cpu=1 selector=zone:z", {}, id="a selector nobody matches binds nothing"),
        pytest.param("job ns/a min=1 pods=1 cpu=1 gpu=1", {}, id="a resource that no node has binds nothing"),
    ],
)
def test_what_is_bound_on_one_node_of_four_cores(text: str, bound: dict[str, int]) -> None:
    assert plan(f"node n1 cpu=4\n{text}", GANGS).bound == bound


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param(
            "job ns/a min=3 roles=ps:1,worker:2\npods ns/a 1 cpu=1 role=ps\npods ns/a 2 cpu=1 role=worker",
            {"a": 3},
            id="every role has its minimum",
        ),
        pytest.param(
            "job ns/a min=3 roles=ps:1,worker:2\npods ns/a 3 cpu=1 role=worker",
            {},
            id="a role without pods holds the gang back, however many others there are",
        ),
        pytest.param(
            "job ns/a min=3 roles=ps:1,worker:2\npods ns/a 1 cpu=5 role=ps\npods ns/a 3 cpu=1 role=worker",
            {},
            id="a role whose pods do not fit holds the gang back",
        ),
        pytest.param(
            "job ns/a min=2 roles=ps:1,worker:2\npods ns/a 1 cpu=5 role=ps\npods ns/a 3 cpu=1 role=worker",
            {"a": 3},
            id="minima of roles that sum to more than the gang's own do not count",
        ),
        pytest.param(
            "job ns/a min=3 roles=ps:1,worker:1\npods ns/a 1 cpu=1 role=ps\npods ns/a 3 cpu=1 role=worker",
            {"a": 4},
            id="more of a role than its minimum make up the gang's",
        ),
        pytest.param(
            "job ns/a min=2 roles=ps:1\npods ns/a 1 cpu=5 role=ps age=9\npods ns/a 1 cpu=1 role=ps\n"
            "pods ns/a 2 cpu=1 role=worker",
            {"a": 3},
            id="a role of which one pod fits nowhere still has another one",
        ),
        pytest.param(
            "job ns/a min=2 roles=ps:1\npods ns/a 1 cpu=1 role=ps age=9\npods ns/a 1 cpu=5 role=ps\n"
            "pods ns/a 2 cpu=1 role=worker",
            {"a": 3},
            id="a role that failed after it had its minimum does not stop the others",
        ),
        pytest.param(
            "job ns/a min=2\npods ns/a 1 cpu=5 role=x age=9\npods ns/a 3 cpu=1 role=y",
            {"a": 3},
            id="a role without a minimum may fail",
        ),
    ],
)
def test_minima_of_roles(text: str, bound: dict[str, int]) -> None:
    assert plan(f"node n1 cpu=4\n{text}", GANGS).bound == bound


@pytest.mark.parametrize(
    ("text", "order"),
    [
        pytest.param(
            "job ns/a min=2 pods=4 cpu=1\njob ns/b min=2 pods=4 cpu=1",
            ["a.0", "a.1", "b.0", "b.1", "a.2", "a.3"],
            id="minima first; then the order of equals stays with the first",
        ),
        pytest.param(
            "job ns/b min=1 pods=1 cpu=1 age=9\njob ns/a min=1 pods=1 cpu=1", ["b.0", "a.0"], id="the older job first"
        ),
        pytest.param(
            "job ns/b min=1 pods=1 cpu=1\njob ns/a min=1 pods=1 cpu=1", ["a.0", "b.0"], id="of equal age, by name"
        ),
        pytest.param(
            "class high 9\njob ns/a min=1 pods=2 cpu=1 age=9\njob ns/b min=1 pods=2 cpu=1 class=high",
            ["b.0", "b.1", "a.0", "a.1"],
            id="higher priority takes all its turns first",
        ),
        pytest.param(
            "class high 9\njob ns/b min=1 pods=1 cpu=1 class=high\npods ns/b 1 cpu=7\njob ns/a min=1 pods=1 cpu=1",
            ["b.0", "a.0"],
            id="a task of high priority that does not fit does not stop the rest",
        ),
        pytest.param(
            "job ns/a min=1\npods ns/a 1 cpu=1 priority=1\npods ns/a 1 cpu=1 priority=7",
            ["a.1", "a.0"],
            id="within a job, tasks of higher priority first",
        ),
        pytest.param(
            "job ns/a min=1\npods ns/a 1 cpu=1\npods ns/a 1 cpu=1 age=9", ["a.1", "a.0"], id="then the older task"
        ),
    ],
)
def test_the_order_of_turns(text: str, order: list[str]) -> None:
    assert plan(f"node n1 cpu=6\n{text}", GANGS).order == order


DRF = policy_of("priority gang", "drf predicates")
NO_NAMESPACES = policy_of("priority gang", "drf predicates", enableNamespaceOrder=False)


def test_after_the_minimum_jobs_take_turns_one_task_each() -> None:
    text = "node n1 cpu=6\njob ns/a min=2 pods=9 cpu=1\njob ns/b min=1 pods=9 cpu=1"

    assert plan(text, DRF).order == ["a.0", "a.1", "b.0", "b.1", "a.2", "b.2"]


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("", {"a": 3, "b": 3}, id="namespaces of equal weight hold the same"),
        pytest.param("weight x 2", {"a": 4, "b": 2}, id="a namespace of double weight holds twice as much"),
        pytest.param("weight x 0", {"a": 3, "b": 3}, id="a weight of zero counts as one"),
        pytest.param("weight x many", {"a": 3, "b": 3}, id="a weight that is no number counts as one"),
        pytest.param(
            "job x/old min=1\npods x/old 2 cpu=1 on=n0", {"a": 2, "b": 4}, id="what a namespace holds already counts"
        ),
        pytest.param(
            "queue other\njob x/old min=1 queue=other\npods x/old 2 cpu=1 on=n0",
            {"a": 3, "b": 3},
            id="what it holds in another queue does not",
        ),
    ],
)
def test_namespaces_share_by_weight(text: str, bound: dict[str, int]) -> None:
    nodes = "node n0 cpu=2 cordoned\nnode n1 cpu=6"

    assert plan(f"{nodes}\n{text}\njob x/a min=1 pods=9 cpu=1\njob y/b min=1 pods=9 cpu=1", DRF).bound == bound


def test_without_namespace_order_jobs_share_whatever_their_namespace() -> None:
    text = "node n1 cpu=6\njob x/a min=1 pods=9 cpu=1\njob y/b min=1 pods=9 cpu=1\njob y/c min=1 pods=9 cpu=1"

    assert plan(text, DRF).bound == {"a": 3, "b": 2, "c": 1}
    assert plan(text, NO_NAMESPACES).bound == {"a": 2, "b": 2, "c": 2}


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("queue a weight=1\nqueue b weight=2", {"a": 2, "b": 4}, id="by weight"),
        pytest.param("queue a\nqueue b", {"a": 3, "b": 3}, id="equal weights, equal parts"),
        pytest.param("queue a capability=cpu:1\nqueue b", {"a": 1, "b": 5}, id="a capability is never passed"),
        pytest.param("queue a guarantee=cpu:5\nqueue b weight=9", {"a": 5, "b": 1}, id="a guarantee is kept free"),
        pytest.param("queue a state=Closed\nqueue b", {"b": 3}, id="a closed queue gets nothing"),
        pytest.param("queue a priority=9\nqueue b", {"a": 3, "b": 3}, id="priority goes first, but takes no more"),
    ],
)
def test_queues_share_the_cluster(text: str, bound: dict[str, int]) -> None:
    jobs = "job x/a min=1 pods=9 cpu=1 queue=a\njob x/b min=1 pods=9 cpu=1 queue=b"

    assert plan(f"node n1 cpu=6\n{text}\n{jobs}").bound == bound


def test_the_queue_with_the_smaller_share_goes_first() -> None:
    text = """
        node n1 cpu=8
        queue a weight=1
        queue b weight=3
        job x/a min=1 pods=9 cpu=1 queue=a
        job x/b min=1 pods=9 cpu=1 queue=b
    """
    assert plan(text).order == ["a.0", "b.0", "b.1", "b.2", "a.1", "b.3", "b.4", "b.5"]


def test_the_queue_of_higher_priority_goes_first() -> None:
    text = "node n1 cpu=4\nqueue a\nqueue b priority=1\njob x/a pods=2 cpu=1 queue=a\njob x/b pods=2 cpu=1 queue=b"

    assert plan(text).order == ["b.0", "b.1", "a.0", "a.1"]


def test_jobs_of_a_queue_that_holds_all_it_deserves_say_so() -> None:
    text = """
        node n1 cpu=4 pods=4
        queue a
        queue b
        job x/a1 min=1 pods=2 cpu=1 queue=a age=9
        job x/a2 min=1 pods=2 cpu=1 queue=a
        job x/b min=1 pods=2 cpu=1 queue=b
    """
    found = plan(text)

    assert found.bound == {"a1": 1, "a2": 1, "b": 2}
    assert found.message("x/a2").endswith(words.besides(queue_overused("a")))
    assert found.why("x/a2.1").startswith(available(1, {"Insufficient cpu": 1}).removesuffix("."))
    assert found.queues["a"].overused


@pytest.mark.parametrize(
    ("text", "bound", "waits"),
    [
        pytest.param("job ns/a min=1 pods=1 cpu=3", {}, {"ns/a"}, id="a task waits for a node that is being left"),
        pytest.param("job ns/a min=2 pods=2 cpu=2", {}, {"ns/a"}, id="a gang waits as a whole, with what it has"),
        pytest.param("job ns/a min=3 pods=3 cpu=2", {}, set(), id="a gang that would not fit even then does not wait"),
        pytest.param(
            "job ns/a min=1 pods=1 cpu=4 age=9\njob ns/b min=1 pods=1 cpu=1",
            {},
            {"ns/a"},
            id="what is reserved is not given to the next, idle or not",
        ),
        pytest.param(
            "job ns/a min=1 pods=1 cpu=3 age=9\njob ns/b min=1 pods=1 cpu=1",
            {"b": 1},
            {"ns/a"},
            id="what is left beside a reservation is given to the next",
        ),
        pytest.param(
            "job ns/a min=1 pods=1 cpu=1 age=9\njob ns/b min=1 pods=1 cpu=3",
            {"a": 1},
            {"ns/b"},
            id="who fits now is bound now",
        ),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=2 age=9\njob ns/b min=2 pods=2 cpu=1",
            {},
            {"ns/a"},
            id="what a waiting gang holds on idle amounts is kept for it too",
        ),
        pytest.param(
            "job ns/a min=2 pods=1 cpu=4 age=9\npods ns/a 1 selector=zone:z\njob ns/b min=1 pods=1 cpu=1",
            {},
            {"ns/a"},
            id="pods that ask for nothing count for a gang that waits",
        ),
        pytest.param(
            "job ns/a min=3 pods=3 cpu=2 age=9\njob ns/b min=2 pods=2 cpu=1",
            {"b": 2},
            set(),
            id="what a hopeless gang tried to hold is given to the next",
        ),
    ],
)
def test_waiting_for_others_to_leave(text: str, bound: dict[str, int], waits: set[str]) -> None:
    found = plan(f"node n1 cpu=4\npods ns/old 1 cpu=2 on=n1 leaving\n{text}", GANGS)

    assert found.bound == bound
    assert {key for key, job in found.jobs.items() if re.search("waits? for other pods to leave", job.message)} == waits


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        pytest.param("pods ns/a 1 cpu=1 nominated=n2", {"a.0": "n2"}, id="a nominated node is taken where it fits"),
        pytest.param("pods ns/a 1 cpu=3 nominated=n2", {"a.0": "n1"}, id="else the best of all"),
        pytest.param("pods ns/a 1 cpu=1 nominated=gone", {"a.0": "n1"}, id="a node that is gone is forgotten"),
        pytest.param("pods ns/a 1 cpu=1 nominated=n3", {"a.0": "n1"}, id="so is one that filters refuse"),
        pytest.param("pods ns/a 1 cpu=1 nominated=n4", {}, id="a nominated node is waited for while others are free"),
    ],
)
def test_nominated_nodes(text: str, nodes: dict[str, str]) -> None:
    cluster = """
        node n1 cpu=4
        node n2 cpu=2
        node n3 cpu=4 cordoned
        node n4 cpu=4
        pods ns/old 1 cpu=4 on=n4 leaving
        job ns/a min=1
    """
    assert plan(f"{cluster}\n{text}", policy_of("priority gang", "predicates")).nodes == nodes


def test_without_enqueue_jobs_that_wait_for_admission_are_admitted_on_the_spot() -> None:
    found = plan("node n1 cpu=1\njob ns/a pods=1 cpu=1", policy_of("gang", "predicates", actions="allocate"))

    assert found.bound == {"a": 1}


def test_with_enqueue_after_allocate_a_job_is_bound_one_cycle_later() -> None:
    policy = policy_of("gang", "predicates", actions="allocate, enqueue")
    text = "node n1 cpu=1\njob ns/a pods=1 cpu=1"

    assert plan(text, policy).bound == {}
    assert plan(text, policy, cycles=2).bound == {"a": 1}


FOUR_OF_FIVE = (
    "class high 9\nnode n1 cpu=5\njob ns/a min=4 phase=Running age=1\npods ns/a 3 cpu=1 on=n1\npods ns/a 1 cpu=1"
)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param(
            f"{FOUR_OF_FIVE}\njob ns/b class=high min=2 pods=2 cpu=1 age=9",
            {"a": 1},
            id="a gang that lost a pod goes before all others",
        ),
        pytest.param(
            f"{FOUR_OF_FIVE}\nqueue q priority=9\njob ns/b queue=q min=2 pods=2 cpu=1 age=9",
            {"a": 1},
            id="also before those of other queues",
        ),
        pytest.param(
            f"{FOUR_OF_FIVE.replace('min=4', 'min=3')}\njob ns/b class=high min=2 pods=2 cpu=1 age=9",
            {"b": 2},
            id="one that still has its minimum does not",
        ),
        pytest.param(
            f"{FOUR_OF_FIVE.replace('min=4', 'min=9').replace('a 1', 'a 6')}\njob ns/b class=high min=2 pods=2 cpu=1",
            {"b": 2},
            id="nor one that lacks most of its minimum",
        ),
    ],
)
def test_running_gangs_are_completed_first(text: str, bound: dict[str, int]) -> None:
    assert plan(text, GANGS).bound == bound


@pytest.mark.parametrize(
    ("gang", "told"),
    [
        pytest.param(
            "job ns/b min=2 queue=q\npods ns/b 1 cpu=1 memory=1Gi\npods ns/b 1 cpu=1 memory=2Gi",
            "queue q allows 4 cpu: 3 held, 2 more asked",
            id="what its own gang asks for as well",
        ),
        pytest.param(
            "job ns/b min=2 queue=q\npods ns/b 1 cpu=1\npods ns/b 1 cpu=4",
            "queue q may hold 4 cpu at most: 5 asked",
            id="that the whole gang is too large",
        ),
    ],
)
def test_a_pod_that_its_queue_refuses_is_told(gang: str, told: str) -> None:
    found = plan(f"node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q\npods ns/a 1 cpu=3 on=n1\n{gang}")

    assert found.message("ns/b") == told


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
