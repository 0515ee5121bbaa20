"""numa-aware: pods with whole cpus go where the kubelet can align them with NUMA zones."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.support.keeping import memos_keep
from tests.support.plans import NOW, Plan, decide, manifests, mirror, policy_from, policy_of
from tests.support.zones import DECISION, POLICY, report, volcano_report
from vsched import api
from vsched.framework.words.nodes import available
from vsched.model.memo import Memo
from vsched.model.nodes.zones import NO_ZONES, NodeZones, Zone, ZoneCatalogue, ZonedPod
from vsched.model.pods.shape import ZoneRequest
from vsched.model.pods.task import Task
from vsched.plugins.pods.zone_tables import UNREPORTED_SECONDS, zone_tables
from vsched.plugins.pods.zones import ZoneBooks
from vsched.plugins.words import nodes as words

Obj = dict[str, Any]
AWARE = policy_of("priority gang", "predicates nodeorder proportion numa-aware")
NODES = "node n1 cpu=8\nnode n2 cpu=8\nnode n3 cpu=8"


def pods(count: int, cpu: str, *words: str, job: str = "j") -> str:
    """A job of Guaranteed pods."""
    return f"job ns/{job} min={count} pods={count} cpu={cpu} memory=1Gi limits=cpu:{cpu},memory:1Gi {' '.join(words)}"


def asking(policy: str) -> str:
    return f"{POLICY}={policy}"


def decided(text: str, *reports: Obj, cycles: int = 1) -> Plan:
    return decide([*manifests(f"{NODES}\n{text}"), *reports], AWARE, cycles=cycles)


SINGLE = asking("single-numa-node")


@pytest.mark.parametrize(
    ("text", "reports", "expected"),
    [
        pytest.param(pods(1, "3"), [report("n1", "2", "2")], "n2", id="a zone holds it where the kubelet says so"),
        pytest.param(
            pods(1, "3", SINGLE), [report("n1", "2", "2"), report("n3", "1", "3")], "n3", id="a policy needs a report"
        ),
        pytest.param(
            pods(1, "3"),
            [report(name, "2", "2", policy="best-effort") for name in ("n1", "n2", "n3")],
            "n1",
            id="best effort never refuses",
        ),
        pytest.param(
            pods(1, "3"),
            [report(name, "2", "2", policy="none") for name in ("n1", "n2", "n3")],
            "n1",
            id="a kubelet without a policy refuses nothing",
        ),
        pytest.param(
            pods(1, "6", asking("restricted")),
            [report("n1", "4", "1", policy="restricted"), report("n2", "4", "4", policy="restricted")],
            "n2",
            id="restricted: as many zones as it needs, no more",
        ),
        pytest.param(
            pods(1, "6", asking("restricted")),
            [report("n2", *["4E"] * 8, policy="restricted")],
            "n2",
            id="no sum of what zones say they have is too large",
        ),
        pytest.param(
            pods(1, "2500m"), [report("n1", "1", "1")], "n1", id="a pod with parts of cpus is not aligned"
        ),
        pytest.param(
            "job ns/j min=1 pods=1 cpu=3", [report("n1", "1", "1")], "n1", id="nor is a pod that is not Guaranteed"
        ),
        pytest.param(
            pods(1, "3", SINGLE),
            [volcano_report("n2", "0-3", dict.fromkeys(range(4), 0) | dict.fromkeys(range(4, 8), 1))],
            "n2",
            id="Volcano's report counts cpus by number",
        ),
        pytest.param(
            pods(1, "3", SINGLE),
            [
                volcano_report("n2", "0-3", dict.fromkeys(range(4), 0)),
                report("n2", "1", "1"),
                report("n3", "4", "4"),
            ],
            "n3",
            id="of a node with both reports, the NodeResourceTopology counts",
        ),
        pytest.param(
            pods(1, "4", SINGLE),
            [volcano_report("n1", "0-7", dict.fromkeys(range(4), 0) | dict.fromkeys(range(4, 8), 1), reserved="5"),
             report("n2", "4", "1")],
            "n2",
            id="the cpus that the system keeps are not for pods",
        ),
    ],
)  # fmt: skip
def test_where_a_pod_goes(text: str, reports: list[Obj], expected: str) -> None:
    assert list(decided(text, *reports).nodes.values()) == [expected]


@pytest.mark.parametrize(
    ("text", "reports", "why"),
    [
        pytest.param(pods(1, "3", SINGLE), [], words.NO_REPORT, id="no node has a report"),
        pytest.param(
            pods(1, "3", SINGLE),
            [report(name, "4", "4", policy="restricted") for name in ("n1", "n2", "n3")],
            words.other_policy("restricted", "single-numa-node"),
            id="nodes of another policy",
        ),
        pytest.param(
            pods(1, "3", SINGLE),
            [
                report(name, "4", "4") | {"attributes": [{"name": "cpuManagerPolicy", "value": "none"}]}
                for name in ("n1", "n2", "n3")
            ],
            words.NOT_STATIC,
            id="kubelets that give nobody whole cpus",
        ),
        pytest.param(
            pods(1, "3", SINGLE),
            [report(name, "0", "0", of="0") for name in ("n1", "n2", "n3")],
            words.NO_CPUS,
            id="nodes without cpus for pods",
        ),
        pytest.param(
            pods(1, "3"),
            [report(name, "2", "2") for name in ("n1", "n2", "n3")],
            words.no_zone("cpu"),
            id="no zone holds it",
        ),
        pytest.param(
            pods(1, "3"),
            [report(name, "2", "2", policy="restricted") for name in ("n1", "n2", "n3")],
            words.too_few_zones("cpu"),
            id="it would be spread",
        ),
    ],
)
def test_what_is_said(text: str, reports: list[Obj], why: str) -> None:
    found = decided(text, *reports)

    assert found.why("ns/j.0") == available(3, {why: 3})


def test_what_a_session_places_is_taken_from_the_zones() -> None:
    found = decided(pods(4, "3", SINGLE), report("n1", "4", "4"), report("n2", "4", "4"))

    assert sorted(found.nodes.values()) == ["n1", "n1", "n2", "n2"]
    assert decided(pods(5, "3", SINGLE), report("n1", "4", "4"), report("n2", "4", "4")).nodes == {}


def test_what_an_earlier_session_placed_is_taken_as_well() -> None:
    text = f"{pods(4, '3', SINGLE)}\n{pods(1, '3', SINGLE, job='late')}"

    found = decided(text, report("n1", "4", "4"), report("n2", "4", "4"), cycles=3)
    assert len(found.nodes) == 4


def test_a_bound_pod_is_told_which_zones() -> None:
    found = decided(pods(2, "3", SINGLE), report("n1", "4", "4"))
    decisions = [json.loads(dict(bind.annotations)[DECISION]) for bind in found.reports[0].binds]

    assert decisions == [{"numa": {"0": {"cpu": "3"}}}, {"numa": {"1": {"cpu": "3"}}}]


def test_pods_that_nobody_aligns_get_no_annotation() -> None:
    (bind,) = decided("job ns/j min=1 pods=1 cpu=1", report("n1", "4", "4")).reports[0].binds

    assert bind.annotations == ()


def test_fewer_zones_are_better_for_pods_with_a_policy() -> None:
    wish = asking("best-effort")
    reports = [report("n1", "2", "2", policy="best-effort"), report("n2", "4", "4", policy="best-effort")]

    assert list(decided(pods(1, "3", wish), *reports).nodes.values()) == ["n2"]
    assert list(decided(pods(1, "3"), *reports).nodes.values()) == ["n1"], "it states no wish"


def test_weight_zero_only_filters() -> None:
    text = json.dumps(
        {
            "actions": "enqueue, allocate",
            "tiers": [{"plugins": [{"name": "predicates"}, {"name": "numa-aware", "arguments": {"weight": 0}}]}],
        }
    )
    reports = [report("n1", "2", "2", policy="best-effort"), report("n2", "4", "4", policy="best-effort")]
    found = decide([*manifests(f"{NODES}\n{pods(1, '3', asking('best-effort'))}"), *reports], policy_from(text))
    assert list(found.nodes.values()) == ["n1"]


@pytest.mark.parametrize(
    ("decision", "evicted"),
    [
        pytest.param(
            f"{DECISION}={json.dumps({'numa': {'1': {'cpu': '4'}}}, separators=(',', ':'))}", ["low.0"], id="known"
        ),
        pytest.param("", [], id="unknown: nobody can say whether it helps"),
    ],
)
def test_an_urgent_pod_takes_the_zone_of_a_pod_whose_zones_are(decision: str, evicted: list[str]) -> None:
    text = f"""
        class high 10
        node n1 cpu=6
        job ns/low phase=Running
        pods ns/low 1 cpu=4 memory=1Gi limits=cpu:4,memory:1Gi on=n1 {decision}
        {pods(1, "4", "class=high", SINGLE, job="urgent")}
    """
    policy = policy_of("priority", "predicates numa-aware", actions="allocate, preempt")

    found = decide([*manifests(text), report("n1", "2", "0")], policy)
    assert found.evicted == [evicted]


def test_a_pod_that_is_evicted_holds_its_zones_until_it_is_gone() -> None:
    held = f"{DECISION}={json.dumps({'numa': {'0': {'cpu': '4'}}}, separators=(',', ':'))}"
    text = f"""
        class high 10
        node n1 cpu=6
        job ns/low phase=Running
        pods ns/low 1 cpu=4 memory=1Gi limits=cpu:4,memory:1Gi on=n1 {held}
        job ns/urgent min=1 phase=Inqueue class=high
        pods ns/urgent 1 cpu=3
        {pods(1, "2", SINGLE, job="next")}
    """
    policy = policy_of("priority", "predicates numa-aware", actions="preempt, allocate")

    found = decide([*manifests(text), report("n1", "0", "1")], policy)
    assert (found.evicted, found.nodes) == ([["low.0"]], {})


# -- which pods the report counts ------------------------------------------------------------------------------------

ONE = ZoneRequest("", (((0, 2000),),), (), ((0, 2000),))


def free_of(pod: ZonedPod, report: NodeZones) -> list[int]:
    """What is free of the cpus of each zone of n1, with one pod on it."""
    world = mirror(manifests("node n1 cpu=8")).snapshot(NOW)
    books = ZoneBooks(ZoneCatalogue({"n1": report}, {"n1": (pod,)}), world.nodes, NOW)
    free: list[int] = books.later.free[0, :, 0].tolist()
    return free


def zones(*, reported: float = 0.0, pods: Any = None) -> NodeZones:
    cpus = (("cpu", 4000),)
    return NodeZones(
        "n1", "single-numa-node", zones=(Zone(0, cpus, cpus), Zone(1, cpus, cpus)), reported=reported, pods=pods
    )


SECOND = ((1, (("cpu", 2000),)),)


@pytest.mark.parametrize(
    ("pod", "report", "free"),
    [
        pytest.param(ZonedPod("u", "p", ONE), zones(), [2000, 4000], id="a pod that does not run yet is not counted"),
        pytest.param(
            ZonedPod("u", "p", ONE, shares=SECOND), zones(), [4000, 2000], id="it holds what was decided for it"
        ),
        pytest.param(
            ZonedPod("u", "p", ONE, running=True, started=NOW - 9),
            zones(),
            [4000, 4000],
            id="a report that does not say its time counts what runs",
        ),
        pytest.param(
            ZonedPod("u", "p", ONE, running=True, started=NOW - 9),
            zones(reported=NOW - 20),
            [2000, 4000],
            id="a pod that started after the report is not counted",
        ),
        pytest.param(
            ZonedPod("u", "p", ONE, running=True, started=NOW - 9),
            zones(reported=NOW - 5),
            [4000, 4000],
            id="a pod that started before the report is",
        ),
        pytest.param(
            ZonedPod("u", "p", ONE, running=True, started=NOW - UNREPORTED_SECONDS - 1),
            zones(reported=NOW - 2 * UNREPORTED_SECONDS),
            [4000, 4000],
            id="after five minutes every report counts it",
        ),
        pytest.param(
            ZonedPod("u", "p", ONE, running=True, started=NOW - 9, on_paper=True),
            zones(),
            [2000, 4000],
            id="no report counts what a simulation started",
        ),
        pytest.param(
            ZonedPod("u", "p", ONE), zones(pods=(("u", SECOND),)), [4000, 4000], id="a report that lists it counts it"
        ),
        pytest.param(
            ZonedPod("u", "p", ONE, running=True, started=NOW - 9),
            zones(reported=NOW - 1, pods=()),
            [2000, 4000],
            id="a report that lists others does not",
        ),
    ],
)
def test_which_pods_are_taken_from_the_report(pod: ZonedPod, report: NodeZones, free: list[int]) -> None:
    assert free_of(pod, report) == free


# -- properties ------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=8),
    st.sampled_from(["single-numa-node", "restricted", "best-effort"]),
    st.data(),
)
def test_no_zone_goes_below_zero_and_undoing_everything_restores_all(
    sizes: list[tuple[int, bool]], policy: str, data: st.DataObject
) -> None:
    lines = [
        f"pods ns/j 1 cpu={cpu} memory=1Gi limits=cpu:{cpu},memory:1Gi" + (" on=n1" if placed else "")
        for cpu, placed in sizes
    ]
    reports = [report("n1", "3", "4", policy=policy), report("n2", "1", "4", "2", policy=policy)]
    snapshot = mirror(
        [*manifests("\n".join(["node n1 cpu=8", "node n2 cpu=8", "job ns/j min=1", *lines])), *reports]
    ).snapshot(NOW)
    nodes = snapshot.nodes.copy()
    books = ZoneBooks(snapshot.zones, nodes, NOW)
    before = books.now.free.copy()
    tasks: list[Task] = sorted(snapshot.jobs["ns/j"].tasks.values(), key=lambda task: task.name)
    moves: list[tuple[Task, int]] = []
    for task in data.draw(st.permutations(tasks)):
        row = nodes.statics.row[task.node] if task.node else data.draw(st.integers(0, 1))
        if task.node:
            books.give_back(task, row)
        else:
            books.take(task, row)
        moves.append((task, row))
        assert (books.later.free >= 0).all()
        assert (books.now.free <= books.later.free).all(), "who is evicted still holds its zones"
        asked = tasks[0].shape.zones
        assert asked is not None
        for later, table in ((False, books.now), (True, books.later)):
            known, fresh = (
                books.fit(asked, later=later),
                table.fit(zone_tables(snapshot.zones, nodes, NOW).asked(asked)),
            )
            assert (known.passes == fresh.passes).all(), "what is remembered is what is so"
            assert (known.chosen == fresh.chosen).all()
    for task, row in reversed(moves):
        if task.node:
            books.take(task, row)
        else:
            books.give_back(task, row)

    assert (books.now.free == before).all()
    assert (books.later.free == before).all()


AGES = st.sampled_from([0.0, NOW - 400, NOW - 250, NOW - 20, NOW])
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["n1", "n2", "n3"]),
        st.lists(st.tuples(st.integers(0, 2), st.booleans(), AGES, st.sampled_from([(), SECOND])), max_size=3),
        st.sampled_from([0.0, NOW - 300, NOW - 10]),
        st.sampled_from([None, (), (("u0", SECOND),)]),
        st.sampled_from([NOW - 120, NOW, NOW + 60, NOW + 400]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None)
@given(CHANGES)
def test_what_is_kept_from_session_to_session_is_what_counting_anew_comes_to(changes: list[Any]) -> None:
    statics = mirror(manifests(NODES)).snapshot(NOW).nodes
    reports: dict[str, NodeZones] = {}
    there: dict[str, tuple[ZonedPod, ...]] = {}
    for node, placed, reported, listed, now, count in changes:
        amounts = (("cpu", 4000),)
        found = tuple(Zone(number, amounts, amounts) for number in range(count))
        reports[node] = NodeZones(node, "single-numa-node", zones=found, reported=reported, pods=listed)
        there[node] = tuple(
            ZonedPod(f"u{uid}", "p", ONE, running, started, shares)
            for uid, running, started, shares in {one[0]: one for one in placed}.values()
        )
        catalogue = ZoneCatalogue(dict(reports), dict(there))
        fresh = mirror(manifests(NODES)).snapshot(NOW).nodes
        for time in (now, NOW):
            kept, anew = zone_tables(catalogue, statics, time), zone_tables(catalogue, fresh, time)
            fresh.statics.memo = Memo()
            assert kept.zones.free.tolist() == anew.zones.free.tolist()
            assert kept.zones.reports.tolist() == anew.zones.reports.tolist()
            assert [{uid: held.tolist() for uid, held in one.held.items()} for one in kept.counted] == [
                {uid: held.tolist() for uid, held in one.held.items()} for one in anew.counted
            ]


def test_the_zones_of_a_node_follow_it_to_another_row() -> None:
    world = mirror([*manifests(NODES), report("n2", "2", "2"), report("n3", "1", "3")])
    before = world.snapshot(NOW)
    world.intake.replace(
        "Node", [api.decode("Node", orjson.dumps(one)) for one in manifests("node n2 cpu=8\nnode n3 cpu=8")]
    )
    after = world.snapshot(NOW)

    found = [zone_tables(one.zones, one.nodes, NOW) for one in (before, after)]
    rows = [dict(zip([one.report.node for one in some.counted], some.rows.tolist(), strict=True)) for some in found]
    assert rows == [{"n2": 1, "n3": 2}, {"n2": 0, "n3": 1}]


@pytest.mark.parametrize("count", [200, 2000])
@memos_keep()
def test_a_session_counts_only_the_nodes_that_changed(count: int) -> None:
    world = mirror(manifests("\n".join(f"node n{at} cpu=8" for at in range(count)))).snapshot(NOW)
    found = zones(reported=NOW - 20)
    young = ZonedPod("u", "p", ONE, running=True, started=NOW - 9)
    reports = {name: structs.replace(found, node=name) for name in world.nodes.statics.names}
    there = {name: (structs.replace(young, uid=name),) for name in reports}
    first = zone_tables(ZoneCatalogue(reports, there), world.nodes, NOW)

    there = {**there, "n7": (structs.replace(young, uid="other", started=NOW - 5),)}
    later = zone_tables(ZoneCatalogue(reports, there), world.nodes, NOW + 60)

    anew = [one.report.node for one, other in zip(later.counted, first.counted, strict=True) if one is not other]
    assert anew == ["n7"]
    assert zone_tables(later.catalogue, world.nodes, NOW + 90) is later
    books = ZoneBooks(later.catalogue, world.nodes, NOW + 90)
    books.later.free[:] = 0
    assert later.zones.free.any(), "sessions work on copies"


def test_the_catalogue_is_the_same_object_while_nothing_changes() -> None:
    cache = mirror([*manifests(f"{NODES}\n{pods(1, '2')}"), report("n1", "4", "4")])
    first = cache.snapshot(NOW).zones

    assert cache.snapshot(NOW).zones is first
    assert mirror(manifests(NODES)).snapshot(NOW).zones is NO_ZONES


def test_masks_hold_for_nodes_in_any_order() -> None:
    """Reports of some nodes only, in another order than the nodes."""
    found = decided(pods(2, "4", SINGLE), report("n3", "4", "0"), report("n2", "0", "4"))

    assert sorted(found.nodes.values()) == ["n2", "n3"]
