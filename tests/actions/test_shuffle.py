"""shuffle: who leaves because it had better be elsewhere, and who stays because there is no elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import devices as d
from tests.support import volumes as v
from tests.support.examples import examples
from tests.support.plans import NOW, Manifest, manifests, mirror
from vsched.actions import ACTIONS
from vsched.actions.shuffle import RunningTasks, movable, shuffle
from vsched.framework.cycle import run_cycle
from vsched.framework.points.extension import NoArgs, Overused, Plugin
from vsched.framework.points.victims import VictimTasks
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.plan import CycleReport
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins import PLUGINS
from vsched.settings import load_text

ZONE = "volcano.sh/revocable-zone"
ANY_NUMBER = "volcano.sh/jdb-min-available=0"
LENT = f"volcano.sh/preemptable=true {ZONE}=*"


class Restless(Plugin[NoArgs], VictimTasks):
    """Names every pod labelled ``restless``."""

    name = "restless"

    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return [task for task in candidates if ("restless", "yes") in task.labels.pairs]


class Sated(Plugin[NoArgs], Overused):
    """Lets no queue have anything more."""

    name = "sated"

    def overused(self, queue: Queue) -> bool:
        return True


BUILT = Registry.of((*PLUGINS, Restless, Sated), ACTIONS)


def policy(*plugins: str, actions: str = "shuffle") -> Policy:
    tiers = "".join(f"- plugins: [{', '.join(f'{{name: {name}}}' for name in tier.split())}]\n" for tier in plugins)
    return load_text(f"actions: {actions}\ntiers:\n{tiers}", "policy", BUILT).policy


TDM = load_text(
    """
actions: shuffle
tiers:
- plugins:
  - name: tdm
    arguments:
      tdm.revocable-zone.day: "07:00-21:00"
      tdm.revocable-zone.night: "21:00-23:00"
  - name: pdb
  - name: predicates
""",
    "policy",
    BUILT,
).policy
RESTLESS = policy("restless", "predicates proportion")


def decided(text: str, told: Policy) -> CycleReport:
    return run_cycle(mirror(manifests(text)).snapshot(NOW), told, BUILT)


def evicted(text: str, told: Policy) -> list[str]:
    return [eviction.name for eviction in decided(text, told).evictions]


def opened(text: str, told: Policy, *, previous: float | None = None) -> Session:
    cache = mirror(manifests(text))
    if previous is not None:
        cache.snapshot(previous)
    return Session(cache.snapshot(NOW), told, BUILT, Trace())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("node n2 cpu=2", ["a.1"], id="as many leave as there is room for elsewhere, the last task first"),
        pytest.param("node n2 cpu=4", ["a.1", "a.0"], id="all of them where there is room for all"),
        pytest.param("", [], id="nobody where there is no other node, though its own would take it again"),
        pytest.param("node n2 cpu=1", [], id="nobody where the others are too small"),
        pytest.param("node n2 cordoned", [], id="nobody where the others take nobody"),
        pytest.param(
            "node n2 cpu=2\njob ns/old\npods ns/old 1 cpu=1 on=n2", [], id="nobody where others are in the way"
        ),
        pytest.param(
            "node n2 cpu=2\njob ns/old\npods ns/old 1 cpu=1 on=n2 leaving", ["a.1"], id="whoever leaves makes room"
        ),
        pytest.param("node n2\npdb ns/guard selector=job:a allowed=1", ["a.1"], id="no more than budgets allow"),
        pytest.param("node n2\npdb ns/guard selector=job:a allowed=0", [], id="nobody where budgets allow nobody"),
    ],
)
def test_of_two_restless_pods_on_one_node(text: str, expected: list[str]) -> None:
    assert evicted(f"node n1\njob ns/a\npods ns/a 2 cpu=2 on=n1 labels=restless:yes\n{text}", RESTLESS) == expected


@pytest.mark.parametrize(
    ("pod", "leaves"),
    [
        pytest.param("cpu=1", True, id="one that fits"),
        pytest.param("", True, id="one that asks for nothing"),
        pytest.param("cpu=1 selector=zone:a", False, id="not one that may run nowhere else"),
        pytest.param("cpu=1 apart=guest", False, id="not one that avoids who is there"),
        pytest.param("cpu=1 port=80", False, id="not one whose port is taken there"),
        pytest.param("cpu=1 volcano.sh/preemptable=false", False, id="not one that may not be preempted"),
        pytest.param("cpu=1 bound", False, id="not one that does not run yet"),
        pytest.param("cpu=1 leaving", False, id="not one that is leaving anyway"),
        pytest.param("cpu=1 ebs=data", False, id="not one that would wait, for what it asks is not supported"),
    ],
)
def test_a_restless_pod_leaves_for_another_node(pod: str, leaves: bool) -> None:
    text = f"""
        node n1 zone=a
        node n2 zone=b
        job ns/guest
        pods ns/guest 1 cpu=1 on=n2 port=80
        job ns/a
        pods ns/a 1 on=n1 labels=restless:yes {pod}
    """
    assert bool(evicted(text, RESTLESS)) is leaves


@pytest.mark.parametrize(
    ("asks", "leaves"), [("roles=beyond", False), ("topology=hard", False), ("topology=soft", True)]
)
def test_a_restless_pod_of_a_job_that_would_wait_stays(asks: str, leaves: bool) -> None:
    text = f"""
        node n1
        node n2
        job ns/a {asks} phase=Running
        pods ns/a 1 cpu=1 on=n1 labels=restless:yes
    """
    assert bool(evicted(text, RESTLESS)) is leaves


def test_two_that_avoid_one_another_do_not_count_on_one_place() -> None:
    text = "node n1\nnode n2\nnode n3\njob ns/a min=1\n" + "\n".join(
        f"pods ns/a 1 cpu=1 on={node} labels=restless:yes apart=a" for node in ("n1", "n2")
    )
    assert evicted(text, RESTLESS) == ["a.1", "a.0"], "the second one has the place that the first one leaves"
    assert evicted(text.replace("node n3", ""), RESTLESS) == []


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        pytest.param("capability=cpu:2", ["a.1", "a.0"], id="leave one by one where it may have each again"),
        pytest.param("capability=cpu:1", [], id="stay where it has more than it may have"),
    ],
)
def test_restless_pods_of_a_queue_with_a_limit(queue: str, expected: list[str]) -> None:
    text = f"node n1\nnode n2\nqueue q {queue}\njob ns/a queue=q\npods ns/a 2 cpu=1 on=n1 labels=restless:yes"

    assert evicted(text, RESTLESS) == expected


@pytest.mark.parametrize(
    ("pod", "leaves"),
    [
        pytest.param("cpu=1", False, id="not one that it would have to be given again"),
        pytest.param("", True, id="one that asks for nothing, which is placed whatever a queue has had"),
    ],
)
def test_a_restless_pod_of_a_queue_that_gets_nothing_more(pod: str, leaves: bool) -> None:
    text = f"node n1\nnode n2\njob ns/a\npods ns/a 1 on=n1 labels=restless:yes {pod}"

    assert bool(evicted(text, policy("restless sated"))) is leaves


def test_the_nodes_of_a_queue_are_looked_at_for_jobs_without_work() -> None:
    text = """
        node n1 volcano.sh/nodegroup-name=g1
        node n2 volcano.sh/nodegroup-name=g2
        queue one required=g1
        queue both required=g1,g2
        job ns/a queue=one
        job ns/b queue=both
        pods ns/a 1 cpu=1 on=n1 labels=restless:yes
        pods ns/b 1 cpu=1 on=n1 labels=restless:yes
    """
    assert evicted(text, policy("restless nodegroup")) == ["b.0"]


def test_what_an_action_before_evicted_is_not_evicted_again() -> None:
    text = """
        class high 9
        node n1 cpu=1
        node n2 cpu=1 cordoned
        node n3 cpu=2 taint=gpu:yes
        job ns/a
        pods ns/a 1 cpu=1 on=n1 labels=restless:yes tolerates=gpu
        job ns/b
        pods ns/b 1 cpu=1 on=n2 labels=restless:yes tolerates=gpu
        job ns/new class=high min=1 pods=1 cpu=1
    """
    found = decided(text, policy("priority restless predicates", actions="enqueue, allocate, preempt, shuffle"))

    assert [(one.name, one.action, one.beneficiary) for one in found.evictions] == [
        ("a.0", "preempt", "ns/new"),
        ("b.0", "shuffle", ""),
    ]
    assert found.nominations[0].node == "n1"


ZONES = f"node n1 cpu=2\nnode n2 {ZONE}=night\nnode n3 {ZONE}=day\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"job ns/a {ANY_NUMBER}\npods ns/a 3 cpu=1 on=n2 {LENT}", ["a.2", "a.1", "a.0"], id="all may go"),
        pytest.param(f"job ns/a\npods ns/a 3 cpu=1 on=n2 {LENT}", ["a.2"], id="one of a job that does not say"),
        pytest.param(f"job ns/a {ANY_NUMBER}\npods ns/a 2 cpu=1 on=n3 {LENT}", [], id="nobody in an open zone"),
        pytest.param(
            f"job ns/a {ANY_NUMBER}\npods ns/a 2 cpu=9 on=n2 {LENT}",
            ["a.1", "a.0"],
            id="those that fit nowhere too: the owner wants the node back",
        ),
        pytest.param(
            f"job ns/a {ANY_NUMBER} queue=nowhere\npods ns/a 1 cpu=1 on=n2 {LENT}",
            ["a.0"],
            id="of an unknown queue too",
        ),
        pytest.param(
            f"pdb ns/guard selector=job:a allowed=1\njob ns/a {ANY_NUMBER}\npods ns/a 3 cpu=1 on=n2 {LENT}",
            ["a.2"],
            id="no more than disruption budgets allow",
        ),
        pytest.param(
            f"job ns/a {ANY_NUMBER} age=9\njob ns/b {ANY_NUMBER}\npods ns/a 1 on=n2 {LENT}\npods ns/b 1 on=n2 {LENT}",
            ["b.0", "a.0"],
            id="the last job first",
        ),
    ],
)
def test_pods_of_closed_zones(text: str, expected: list[str]) -> None:
    assert evicted(f"{ZONES}{text}", TDM) == expected


def test_budgets_bound_others_and_name_nobody() -> None:
    text = "node n1\nnode n2\npdb ns/guard selector=job:a allowed=5\njob ns/a\npods ns/a 2 cpu=1 on=n1"

    assert evicted(text, policy("pdb predicates")) == []


@pytest.mark.parametrize(
    ("told", "previous"),
    [
        pytest.param(TDM, NOW, id="between two turns of a plugin"),
        pytest.param(policy("gang predicates"), None, id="without any plugin that names victims"),
    ],
)
def test_running_pods_are_not_looked_at(told: Policy, previous: float | None) -> None:
    session = opened(f"{ZONES}job ns/a\npods ns/a 2 cpu=1 on=n2 {LENT}", told, previous=previous)
    shuffle(session)

    assert session.victimised == {}
    assert session.decisions.committed == []


def test_looking_for_places_leaves_no_trace() -> None:
    session = opened("node n1\nnode n2\njob ns/a\npods ns/a 2 cpu=1 on=n1 labels=restless:yes", RESTLESS)
    before = session.nodes.idle.tolist(), session.nodes.releasing.tolist(), session.nodes.pipelined.tolist()

    tasks = RunningTasks(session)
    assert [task.name for task in tasks[:]] == [tasks[0].name, tasks[1].name] == ["a.1", "a.0"]
    assert [task for _, task, _ in movable(session, tasks)] == list(tasks)
    assert (session.nodes.idle.tolist(), session.nodes.releasing.tolist(), session.nodes.pipelined.tolist()) == before
    assert session.ledger.log == []
    view = session.view("ns/a")
    assert view is not None
    assert (view.moved, view.ready, view.pending_count) == ({}, 2, 0)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5))
def test_each_that_leaves_has_a_place_of_its_own_elsewhere(loads: list[tuple[int, int]]) -> None:
    """Nodes of four places, so many restless pods and others on each; all of one size, so places can be counted."""
    lines = [f"node n{at} cpu=4 pods=4" for at in range(len(loads))] + ["job ns/a min=0"]
    homes: list[int] = []
    for at, (restless, others) in enumerate(loads):
        lines += [f"pods ns/a {restless} cpu=1 on=n{at} labels=restless:yes"] if restless else []
        homes += [at] * restless
        others = min(others, 4 - restless)
        if others:
            lines += [f"job ns/quiet{at}", f"pods ns/quiet{at} {others} cpu=1 on=n{at}"]
    free = [4 - restless - min(others, 4 - restless) for restless, others in loads]

    leaving = Counter(homes[int(name.partition(".")[2])] for name in evicted("\n".join(lines), RESTLESS))

    for at, count in leaving.items():
        others_leave = sum(leaving.values()) - count
        assert count <= sum(free) - free[at] + others_leave
    assert bool(leaving) is any(sum(free) > free[at] for at in homes), "free places alone begin it, and always do"


@pytest.mark.parametrize(
    ("objects", "claim", "leaves"),
    [
        pytest.param([v.volume(claim="ns/data")], "data", True, id="a volume that every node reaches"),
        pytest.param([v.volume(claim="ns/data", node="n1")], "data", False, id="not from the only node of its volume"),
        pytest.param(
            [v.volume(claim="ns/data"), v.csi_node("n2", {v.DRIVER: 0})], "data", False, id="not to a node that is full"
        ),
        pytest.param([d.resource_slice("n2")], "", True, id="devices on another node"),
        pytest.param([], "", False, id="not where nobody else has devices"),
        pytest.param(
            [d.resource_slice("n2", [d.device(taints=["gone=yes"])])], "", False, id="not to a tainted device"
        ),
    ],
)
def test_a_restless_pod_with_claims_leaves_for_a_node_that_can_serve_its_successor(
    objects: list[Manifest], claim: str, leaves: bool
) -> None:
    """The successor uses the same volume; in place of a claim made for the pod, it gets one of its own."""
    fields = f"claim={claim}" if claim else ""
    text = f"node n1\nnode n2\njob ns/a\npods ns/a 1 cpu=1 on=n1 labels=restless:yes {fields}"
    found = manifests(text)
    if claim:
        objects = [*objects, v.storage_class(), v.claim("data", volume="pv")]
    else:
        (pod,) = (one for one in found if one["kind"] == "Pod")
        pod["spec"]["resourceClaims"] = d.pod_claims(gpu="gpus")
        objects = [*objects, d.device_class(), d.resource_slice("n1"), held_device(pod)]
    report = run_cycle(mirror([*found, *objects]).snapshot(NOW), RESTLESS, BUILT)

    assert [eviction.name for eviction in report.evictions] == (["a.0"] if leaves else [])


def held_device(pod: Manifest) -> Manifest:
    """The claim that was made for the pod, with the device of n1."""
    uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}
    results = [{"request": "gpu", "driver": d.DRIVER, "pool": "n1", "device": "gpu-0"}]
    status = {
        "allocation": {"devices": {"results": results}, "nodeSelector": v.in_topology(v.HOSTNAME, "n1")},
        "reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
    }
    return d.resource_claim("gpus", metadata={"ownerReferences": [owner]}, status=status)
