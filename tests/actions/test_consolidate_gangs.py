"""consolidate for gangs that have to be close together, and with gangs whose pods leave together."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.consolidating import OLD, POLICY
from tests.support.plans import NOW, check, manifests, mirror, plan
from tests.support.taking import Busy
from tests.support.topologies import BLOCK, EIGHT, RACK, RACKS, SOFT, decided, nodes_of
from vsched.framework.cycle import run_cycle
from vsched.model.jobs.native import NativeGroup
from vsched.model.plan import CycleReport
from vsched.model.topology.constraints import NetworkTopology
from vsched.settings.built_in import REGISTRY

TOGETHER = f"""
    node n1 cpu=4
    node n2 cpu=4
    node n3 cpu=4
    job x/g min=1 phase=Running
    pods x/g 1 cpu=2 on=n1 {OLD}
    pods x/g 1 cpu=2 on=n2 {OLD}
    job x/b phase=Running
    pods x/b 1 cpu=1 on=n3 volcano.sh/preemptable=false
"""


def decided_with_whole_gang(text: str) -> CycleReport:
    """The pods of x/g leave together or not at all."""
    snapshot = mirror(manifests(text)).snapshot(NOW)
    job = snapshot.jobs["x/g"]
    job.spec = msgspec.structs.replace(job.spec, native=NativeGroup(whole=True))
    report = run_cycle(snapshot, POLICY, REGISTRY)
    check(snapshot, POLICY, report)
    return report


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        pytest.param(f"{TOGETHER}node n4 cpu=1", [], id="none of it where not all of it has room elsewhere"),
        pytest.param(f"{TOGETHER}node n4 cpu=2", ["g.0", "g.1"], id="all of it where all has"),
        pytest.param(
            f"{TOGETHER}node n4 cpu=2".replace("on=n2 owned", "on=n2"), [], id="none of it where one is not made again"
        ),
        pytest.param(
            f"{TOGETHER}node n4 cpu=2\npdb x/g selector=job:g allowed=1", [], id="none of it where a budget keeps one"
        ),
    ],
)
def test_pods_that_leave_together_are_moved_together_or_not_at_all(text: str, moved: list[str]) -> None:
    report = decided_with_whole_gang(f"{text}\njob ns/want min=2 pods=2 cpu=4 phase=Inqueue")
    assert sorted(one.name for one in report.evictions) == moved
    assert len(report.nominations) == len(moved)


def pods(*amounts: int) -> str:
    """On each node, a pod that may be moved holds so much."""
    return "".join(
        f"job x/f{at} min=0 phase=Running\npods x/f{at} 1 cpu={amount} on=n{at} {OLD}\n"
        for at, amount in enumerate(amounts, 1)
        if amount
    )


@pytest.mark.parametrize(
    ("held", "wish", "moved", "nodes"),
    [
        pytest.param((2, 0, 4, 4, 4, 4, 2, 0), RACK, ["f1.0"], {"n1", "n2"}, id="the first rack where one move does"),
        pytest.param((2, 1, 4, 4, 4, 4, 2, 0), RACK, ["f7.0"], {"n7", "n8"}, id="the rack where fewest are moved"),
        pytest.param((3, 3, 4, 4, 3, 0, 3, 3), RACK, [], set(), id="none where nobody has another place"),
        pytest.param((4, 0, 4, 0, 4, 4, 1, 1), BLOCK, [], {"n2", "n4"}, id="nobody is moved where a block has room"),
        pytest.param((4, 1, 4, 0, 4, 4, 4, 2), SOFT, ["f2.0"], {"n2", "n4"}, id="any where closeness is a wish"),
    ],
)
def test_a_gang_gets_room_in_one_domain(
    held: tuple[int, ...], wish: NetworkTopology, moved: list[str], nodes: set[str]
) -> None:
    text = f"{EIGHT}{pods(*held)}job ns/a phase=Inqueue min=2 pods=2 cpu=4"
    session = decided(text, RACKS, {"ns/a": wish}, POLICY)
    assert [entry.task.name for entry in session.decisions.committed if entry.cause is not None] == moved
    assert {node.rstrip("*") for node in nodes_of(session, "ns/a").values()} == nodes


def test_once_pods_are_moved_all_get_their_places() -> None:
    """What is evicted is there for some cycles more, and comes back at once; others wait as well."""
    world = Busy(
        f"""
        node n1 cpu=3
        node n2 cpu=4
        node n3 cpu=1
        job ns/a phase=Running
        pods ns/a 1 cpu=1 on=n1 {OLD}
        job ns/b phase=Running
        pods ns/b 1 cpu=3 on=n2 volcano.sh/preemptable=false
        pods ns/b 1 cpu=1 on=n3 {OLD}
        job ns/want pods=1 cpu=3 phase=Inqueue age=60
        job ns/other pods=1 cpu=3 phase=Inqueue
        """,
        POLICY,
        returning=True,
        terminating=2,
    )
    evicted = [one.name for _ in range(6) for one in world.cycle().evictions]
    nodes = {task.name.partition("~")[0]: task.node for task in world.tasks()}
    assert evicted == ["a.0"]
    assert nodes["want.0"] == "n1"
    assert nodes["a.0"] == "n2"
    assert nodes["other.0"] == "", "it got nothing of what was freed"


@pytest.mark.parametrize(
    ("want", "moves", "nodes"),
    [
        pytest.param(
            "job ns/want min=2 roles=m:1,w:1 phase=Inqueue\npods ns/want 1 cpu=1 role=m\npods ns/want 1 cpu=4 role=w",
            ["a.0 to n3"],
            {"n1", "n2"},
            id="each of its roles",
        ),
        pytest.param(
            "job ns/want min=2 subGroups=part:2:1 phase=Inqueue\n"
            "pods ns/want 1 cpu=2 labels=part:0\npods ns/want 1 cpu=4 labels=part:0",
            ["a.0 to n3"],
            {"n1", "n2"},
            id="a whole sub-group",
        ),
        pytest.param(
            "job ns/want pods=1 cpu=3 apart=b phase=Inqueue", ["a.0 to n3"], {"n1"}, id="a pod that avoids others"
        ),
        pytest.param("job ns/want pods=1 cpu=3 port=80 phase=Inqueue", ["a.0 to n3"], {"n1"}, id="a port"),
    ],
)
def test_what_a_job_may_ask_for(want: str, moves: list[str], nodes: set[str]) -> None:
    text = f"""
        node n1 cpu=4
        node n2 cpu=4
        node n3 cpu=2
        job ns/a phase=Running
        pods ns/a 1 cpu=2 on=n1 port=80 {OLD}
        job ns/b phase=Running
        pods ns/b 1 cpu=1 on=n2 port=80 volcano.sh/preemptable=false
    """
    report = plan(f"{text}\n{want}", POLICY).reports[0]
    assert [f"{one.name} to {one.to}" for one in report.evictions] == moves
    assert {one.node for one in report.nominations} == nodes


def test_pods_that_opt_in_are_asked_to_end_before_they_are_moved() -> None:
    text = f"""
        node n1 cpu=4
        node n2 cpu=2
        job ns/a phase=Running
        pods ns/a 1 cpu=2 on=n1 vsched.io/cooperative-eviction=5m {OLD}
        job ns/want pods=1 cpu=4 phase=Inqueue
    """
    [eviction] = plan(text, POLICY).reports[0].evictions
    assert (eviction.name, eviction.to, eviction.wait) == ("a.0", "n2", 300.0)
