"""Jobs that ask for closeness: which domain they get, which domain later pods get, and why they wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, policy_from, policy_of
from tests.support.topologies import (
    ANY,
    BLOCK,
    EIGHT,
    RACK,
    RACKS,
    SOFT,
    Tree,
    decided,
    nodes_of,
    opened,
    snapshot_of,
)
from vsched.actions.assigning import place_until_ready
from vsched.actions.blocked import PendingTasks
from vsched.actions.pending import to_place
from vsched.actions.places import gang_of, place_together
from vsched.actions.words import not_in, not_tried
from vsched.framework.codes import Code
from vsched.framework.cycle import run_actions
from vsched.framework.places import words
from vsched.framework.policy import Policy
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.framework.words.nodes import ANTI_AFFINITY, available
from vsched.model.topology.constraints import NetworkTopology
from vsched.settings.built_in import REGISTRY

World = tuple[str, Tree, Mapping[str, NetworkTopology]]
PLAIN = policy_of("priority gang", "predicates")
"""No plugin scores nodes: of equal nodes the first by name is taken."""


def names(session: Session, job: str = "ns/a") -> list[str]:
    return sorted(set(nodes_of(session, job).values()))


@pytest.mark.parametrize(
    ("text", "wish", "nodes"),
    [
        pytest.param("job ns/a min=2 pods=2 cpu=4", RACK, ["n1", "n2"], id="a gang goes to the first rack of equals"),
        pytest.param(
            "pods ns/old 1 cpu=1 on=n1\njob ns/a min=2 pods=2 cpu=4", RACK, ["n3", "n4"], id="one with room for all"
        ),
        pytest.param(
            "pods ns/old 1 cpu=2 on=n5\njob ns/a min=2 pods=2 cpu=2",
            RACK,
            ["n5", "n6"],
            id="the rack with the least room that does",
        ),
        pytest.param("job ns/a min=4 pods=4 cpu=4", RACK, [], id="no rack holds it"),
        pytest.param("job ns/a min=4 pods=4 cpu=4", BLOCK, ["n1", "n2", "n3", "n4"], id="but a block does"),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=4", BLOCK, ["n1", "n2"], id="a rack is better than a block that is allowed"
        ),
        pytest.param(
            "job ns/a min=4 pods=4 cpu=4",
            NetworkTopology(tier_name="block"),
            ["n1", "n2", "n3", "n4"],
            id="the tier may be named",
        ),
        pytest.param("job ns/a min=2 pods=2 cpu=4", NetworkTopology(tier_name="row"), [], id="no tier has this name"),
        pytest.param("job ns/a min=2 pods=2 cpu=4", NetworkTopology(highest_tier=0), [], id="no tier is this close"),
        pytest.param(
            "job ns/a min=6 pods=6 cpu=4",
            ANY,
            ["n1", "n2", "n3", "n4", "n5", "n6"],
            id="hard without a tier has no limit",
        ),
        pytest.param("job ns/a min=2 pods=2 cpu=4", ANY, ["n1", "n2"], id="but the closest domain is taken"),
        pytest.param("job ns/a min=2 pods=2 cpu=4", SOFT, ["n1", "n2"], id="a wish takes the closest domain too"),
        pytest.param(
            "job ns/a min=6 pods=6 cpu=4",
            NetworkTopology(hard=False, highest_tier=1),
            ["n1", "n2", "n3", "n4", "n5", "n6"],
            id="and keeps nobody from starting",
        ),
        pytest.param(
            "job ns/a min=1 pods=6 cpu=4",
            RACK,
            ["n1", "n2"],
            id="later pods stay in the rack of the first",
        ),
        pytest.param(
            "job ns/a min=1 pods=6 cpu=4",
            BLOCK,
            ["n1", "n2", "n3", "n4"],
            id="or go to the block around it, as far as allowed",
        ),
        pytest.param(
            "pods ns/old 1 cpu=3 on=n1\npods ns/old 1 cpu=3 on=n2\njob ns/a min=1 pods=2 cpu=1",
            RACK,
            ["n1", "n2"],
            id="the tightest rack with room for the minimum and the rest",
        ),
        pytest.param(
            "job ns/a min=2\npods ns/a 1 cpu=4 on=n3\npods ns/a 1 cpu=4",
            RACK,
            ["n3", "n4"],
            id="a pod joins the one that runs",
        ),
        pytest.param(
            "pods ns/old 1 cpu=4 on=n4\njob ns/a min=2\npods ns/a 1 cpu=4 on=n3\npods ns/a 1 cpu=4",
            RACK,
            ["n3"],
            id="and waits where there is no room next to it",
        ),
        pytest.param(
            "pods ns/old 1 cpu=4 on=n4\njob ns/a min=2\npods ns/a 1 cpu=4 on=n3\npods ns/a 1 cpu=4",
            BLOCK,
            ["n1", "n3"],
            id="or goes to the next closest",
        ),
        pytest.param(
            "job ns/a min=3\npods ns/a 1 cpu=4 on=n1\npods ns/a 1 cpu=4 on=n3\npods ns/a 1 cpu=4",
            RACK,
            ["n1", "n3"],
            id="pods that are apart already let none join them",
        ),
        pytest.param(
            "pods ns/old 1 cpu=4 on=n1 leaving\npods ns/old 1 cpu=4 on=n5\npods ns/old 1 cpu=4 on=n3\n"
            "pods ns/old 1 cpu=4 on=n7\njob ns/a min=2 pods=2 cpu=4",
            RACK,
            ["n1*", "n2"],
            id="room that is being left counts",
        ),
        pytest.param(
            "pods ns/old 1 cpu=2 on=n1 leaving\njob ns/a min=2 pods=2 cpu=4",
            RACK,
            ["n3", "n4"],
            id="but room now goes first",
        ),
        pytest.param(
            "pods ns/old 1 cpu=4 on=n1 leaving\npods ns/old 1 cpu=4 on=n5\npods ns/old 1 cpu=4 on=n3\n"
            "pods ns/old 1 cpu=4 on=n7\njob ns/a min=2 pods=2 cpu=4",
            SOFT,
            ["n6", "n8"],
            id="a wish does not wait for pods to leave",
        ),
        pytest.param("job ns/a min=2\npods ns/a 2", RACK, ["n1"], id="pods that ask for nothing go together"),
    ],
)
def test_where_a_job_goes(text: str, wish: NetworkTopology, nodes: list[str]) -> None:
    session = decided(EIGHT + text, RACKS, {"ns/a": wish}, PLAIN)

    assert names(session) == nodes


@pytest.mark.parametrize(
    ("text", "wish", "message"),
    [
        pytest.param(
            "pods ns/old 1 cpu=2 on=n5\njob ns/a min=4 pods=4 cpu=4",
            RACK,
            words.no_room("r1 of tier 1 (rack)", 2, 4, [(4, "tier 1 (rack)")]),
            id="the domain with most room is named",
        ),
        pytest.param(
            "job ns/a min=5 pods=5 cpu=4",
            BLOCK,
            words.no_room("b1 of tier 2 (block)", 4, 5, [(4, "tier 1 (rack)"), (2, "tier 2 (block)")]),
            id="of all tiers",
        ),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=4",
            NetworkTopology(tier_name="row"),
            words.must_be_in("tier row", words.no_such_name(["block", "rack"])),
            id="a tier that is not known",
        ),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=4",
            NetworkTopology(highest_tier=0),
            words.must_be_in("tier 0 or closer", words.closest_is("tier 1 (rack)")),
            id="a tier that is too close",
        ),
        pytest.param(
            "pods ns/old 1 cpu=4 on=n4\njob ns/a min=2\npods ns/a 1 cpu=4 on=n3\npods ns/a 1 cpu=4",
            RACK,
            words.no_room("r2 of tier 1 (rack)", 0, 1, [(1, "tier 1 (rack)")]),
            id="only the domain of pods with a node is looked at",
        ),
        pytest.param(
            "job ns/a min=3\npods ns/a 1 cpu=4 on=n1\npods ns/a 1 cpu=4 on=n3\npods ns/a 1 cpu=4",
            RACK,
            words.apart("tier 1 (rack)"),
            id="pods that are apart",
        ),
    ],
)
def test_why_a_job_waits(text: str, wish: NetworkTopology, message: str) -> None:
    session = decided(EIGHT + text, RACKS, {"ns/a": wish}, PLAIN)

    told = [why for why in session.refused.tasks.values() if isinstance(why, Refusal)]
    assert [(why.code, why.message) for why in told] == [(Code.TOPOLOGY, message)]


def test_hypernodes_that_cannot_be_read_keep_hard_jobs_waiting() -> None:
    snapshot = snapshot_of(EIGHT + "job ns/a min=2 pods=2 cpu=4", RACKS, {"ns/a": RACK})
    unread = replace(snapshot.topology, hypernodes=(), problem="403: may not list hypernodes")
    session = run_actions(replace(snapshot, topology=unread), PLAIN, REGISTRY, Trace())

    (why,) = session.refused.tasks.values()
    assert why.message == words.must_be_in("tier 1 or closer", words.hypernodes_unread("403: may not list hypernodes"))


def test_a_cluster_without_tiers_keeps_hard_jobs_waiting() -> None:
    session = decided(EIGHT + "job ns/a min=2 pods=2 cpu=4", {}, {"ns/a": RACK}, PLAIN)

    (why,) = session.refused.tasks.values()
    assert why.message == words.must_be_in("tier 1 or closer", words.NO_HYPERNODES)
    assert names(session) == []


def test_a_label_may_be_the_domain() -> None:
    text = (
        "node n1 cpu=4 zone=a\nnode n2 cpu=4 zone=b\nnode n3 cpu=4 zone=b\nnode n4 cpu=8\njob ns/a min=2 pods=2 cpu=4"
    )
    session = decided(text, {}, {"ns/a": NetworkTopology(key="zone")}, PLAIN)

    assert names(session) == ["n2", "n3"]


def test_pods_of_several_shapes_fit_together_or_not_at_all() -> None:
    text = EIGHT + "pods ns/old 1 cpu=3 on=n1\njob ns/a min=3\npods ns/a 1 cpu=4\npods ns/a 2 cpu=2"
    session = decided(text, RACKS, {"ns/a": RACK}, PLAIN)

    assert names(session) == ["n3", "n4"]


@pytest.mark.parametrize(
    ("nominated", "wish", "held", "nodes"),
    [
        pytest.param("n5 n6", RACK, 2, ["n5", "n6"], id="the rack that was freed for a job is its own"),
        pytest.param("n5 n7", BLOCK, 2, ["n5", "n7"], id="a block that was freed goes before racks with room"),
        pytest.param("n1 n3", RACK, 0, ["n1", "n2"], id="nominations that are apart are not held"),
        pytest.param("n3 n5", SOFT, 2, ["n3", "n5"], id="unless closeness is only wished for"),
    ],
)
def test_nominated_nodes(nominated: str, wish: NetworkTopology, held: int, nodes: list[str]) -> None:
    pods = "\n".join(f"pods ns/a 1 cpu=4 nominated={node}" for node in nominated.split())
    session = decided(f"{EIGHT}job ns/a min=2 phase=Inqueue\n{pods}", RACKS, {"ns/a": wish}, PLAIN)

    assert (len(session.decisions.nominated), names(session)) == (held, nodes)


@pytest.mark.parametrize(("steps", "untried"), [(30, ""), (4, not_tried(1)), (0, not_tried(2))])
def test_domains_that_only_seem_to_have_room_are_tried_up_to_a_bound(steps: int, untried: str) -> None:
    """Each rack is one node with room for two, whose pods refuse to share it: no count by domain tells."""
    document = {
        "actions": "allocate",
        "tiers": [{"plugins": [{"name": name} for name in ("priority", "gang", "predicates")]}],
        "configurations": [{"name": "allocate", "arguments": {"gangSearchSteps": steps}}],
    }
    policy = policy_from(json.dumps(document))
    nodes = [f"n{number:02}" for number in range(10)]
    tree: Tree = {f"r{number:02}": (1, name) for number, name in enumerate(nodes)}
    text = "\n".join(f"node {name} cpu=4" for name in nodes) + "\njob ns/a min=2 pods=2 cpu=1 apart=a"
    session = decided(text, tree, {"ns/a": RACK}, policy)

    (why,) = session.refused.tasks.values()
    assert why.message == "".join(
        (
            words.no_room("r00 of tier 1 (rack)", 2, 2, [(10, "tier 1 (rack)")]),
            not_in("r00 of tier 1 (rack)", available(1, {ANTI_AFFINITY: 1})),
            untried,
        )
    )
    assert (session.ledger.log, names(session)) == ([], [])


def test_of_many_domains_with_room_in_sum_the_one_is_found_where_the_pods_fit_together() -> None:
    racks = [f"r{number:02}" for number in range(30)]
    tree: Tree = {name: (1, f"{name}a {name}b") for name in racks}
    sizes = dict.fromkeys(racks, (6, 1)) | {racks[-1]: (5, 2)}
    nodes = [f"node {name}a cpu={one}\nnode {name}b cpu={other}" for name, (one, other) in sizes.items()]
    text = "\n".join([*nodes, "job ns/a min=3", "pods ns/a 1 cpu=3", "pods ns/a 2 cpu=2"])

    assert names(decided(text, tree, {"ns/a": RACK}, PLAIN)) == ["r29a", "r29b"]


def test_where_a_queue_refuses_its_reason_is_told_and_no_other_domain_is_tried() -> None:
    text = EIGHT + "queue q capability=cpu:5\njob ns/a min=2 queue=q\npods ns/a 1 cpu=2\npods ns/a 1 cpu=4"
    session = decided(text, RACKS, {"ns/a": RACK}, policy_of("priority gang", "predicates capacity"))

    (why,) = session.refused.tasks.values()
    assert isinstance(why, Refusal)
    assert (why.code, names(session)) == (Code.QUEUE_CAPABILITY, [])


# -- properties -----------------------------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn, nodes: list[str]) -> Tree:
    """A forest over some of the nodes: racks, perhaps in blocks, perhaps under a top; tiers may be left out."""
    racks: dict[str, list[str]] = {}
    for node in nodes:
        rack = draw(st.sampled_from(["r1", "r2", "r3", "r4", ""]))
        if rack:
            racks.setdefault(rack, []).append(node)
    tree: dict[str, tuple[int, str]] = {name: (1, " ".join(members)) for name, members in racks.items()}
    blocks: dict[str, list[str]] = {}
    for rack in sorted(racks):
        block = draw(st.sampled_from(["b1", "b2", ""]))
        if block:
            blocks.setdefault(block, []).append(rack)
    level = draw(st.sampled_from([2, 3]))
    tree |= {name: (level, " ".join(members)) for name, members in blocks.items()}
    if len(blocks) == 2 and draw(st.booleans()):
        tree["top"] = (5, "b1 b2")
    return tree


wishes = st.sampled_from(
    [RACK, BLOCK, NetworkTopology(highest_tier=3), ANY, SOFT, NetworkTopology(tier_name="rack")],
)


@st.composite
def worlds(draw: st.DrawFn, shapes: int = 3) -> World:
    nodes = [f"n{number:02}" for number in range(draw(st.integers(1, 10)))]
    lines = [f"node {name} cpu={draw(st.integers(1, 6))}" for name in nodes]
    for number in range(draw(st.integers(0, 3))):
        on, leaving = draw(st.sampled_from(nodes)), draw(st.sampled_from(["", " leaving"]))
        lines.append(f"pods ns/old{number} 1 cpu={draw(st.integers(1, 2))} on={on}{leaving}")
    asked = {}
    for job in "abc"[: draw(st.integers(1, 3))]:
        lines.append(f"job ns/{job} min={draw(st.integers(1, 5))} age={draw(st.integers(0, 3))}")
        if draw(st.integers(0, 3)) == 0:
            lines.append(f"pods ns/{job} 1 cpu=1 on={draw(st.sampled_from(nodes))}")
        numbers = st.integers(1, 3)
        lines += [f"pods ns/{job} {draw(numbers)} cpu={draw(numbers)}" for _ in range(draw(st.integers(1, shapes)))]
        asked[f"ns/{job}"] = draw(wishes)
    return "\n".join(lines), draw(trees(nodes)), asked


def domain_level(session: Session, nodes: set[str]) -> int | None:
    """The closest tier with a domain that has all of these nodes, node by node; None without one."""
    rows = [session.nodes.statics.row[node.rstrip("*")] for node in nodes]
    for tier in session.places.tiers.tiers:
        found = {int(tier.ids[row]) for row in rows}
        if len(found) == 1 and found != {-1}:
            return tier.level
    return None


@settings(max_examples=examples(120), deadline=None)
@given(worlds(), st.sampled_from([PLAIN, DEFAULT_POLICY]))
def test_a_hard_constraint_is_never_violated(world: World, policy: Policy) -> None:
    text, tree, asked = world
    session = decided(text, tree, asked, policy)
    for key, wish in asked.items():
        before = (
            {task.node for task in session.jobs[key].job.tasks.values() if task.node} if key in session.jobs else ()
        )
        after = set(nodes_of(session, key).values()) if key in session.jobs else set()
        if not wish.hard or after == before:
            continue
        level = domain_level(session, after)
        limit = wish.highest_tier
        if wish.tier_name:
            limit = session.places.tiers.levels.get(wish.tier_name, -1)
        assert level is not None
        assert limit is None or level <= limit


@settings(max_examples=examples(80), deadline=None)
@given(worlds())
def test_equal_inputs_give_equal_plans(world: World) -> None:
    first, second = decided(*world), decided(*world)

    steps = [[(one.task.uid, one.row, one.status) for one in session.ledger.log] for session in (first, second)]
    assert steps[0] == steps[1]
    assert first.refused.tasks == second.refused.tasks


@settings(max_examples=examples(100), deadline=None)
@given(worlds(), st.sampled_from([RACK, BLOCK, ANY]))
def test_a_gang_gets_the_closest_tier_with_a_domain_that_takes_it(world: World, wish: NetworkTopology) -> None:
    """Every domain is tried for real, on a session of its own."""
    text, tree, _ = world
    session = opened(text, tree, {"ns/a": wish}, PLAIN)
    job = session.jobs.get("ns/a")
    if job is None or job.ready or job.pending_count < job.min_member:
        return
    feasible: int | None = None
    for tier in session.places.tiers.tiers:
        for number in range(len(tier.domains)):
            if feasible is None and takes(text, tree, wish, tier.level, number):
                feasible = tier.level
    limit = feasible if wish.highest_tier is None else wish.highest_tier
    expected = feasible if feasible is not None and limit is not None and feasible <= limit else None
    if session.places.tiers.is_flat and wish.highest_tier is not None:
        expected = None

    level = first_turn(text, tree, wish)

    assert level == expected


def sheet_of(session: Session) -> PendingTasks:
    job = session.jobs["ns/a"]
    job.phase = "Inqueue"
    return to_place(session, job)


def takes(text: str, tree: Tree, wish: NetworkTopology, level: int, number: int) -> bool:
    session = opened(text, tree, {"ns/a": wish}, PLAIN)
    job = session.jobs["ns/a"]
    tier = next(one for one in session.places.tiers.tiers if one.level == level)
    pending = sheet_of(session)
    with session.statement() as statement:
        with session.node_selection.within(session.places.domain(tier, number).rows):
            place_until_ready(session, session.queue(job), job, pending, statement)
        return statement.placed and (session.plugins.job_ready(job) or session.plugins.job_pipelined(job))


def first_turn(text: str, tree: Tree, wish: NetworkTopology) -> int | None:
    """The tier of the domain that the first turn takes. If it takes none, nothing has changed."""
    session = opened(text, tree, {"ns/a": wish}, PLAIN)
    job, tables = session.jobs["ns/a"], session.nodes
    before = tables.idle.copy(), tables.pipelined.copy(), tables.requested.copy(), tables.scoring.copy()
    pending = sheet_of(session)
    tasks = list(pending)
    with session.statement() as statement:
        found = place_together(session, session.queue(job), pending, statement, gang_of(session, job, wish))
        if found is None:
            after = tables.idle, tables.pipelined, tables.requested, tables.scoring
            assert all((one == other).all() for one, other in zip(before, after, strict=True))
            assert (list(pending), session.ledger.log, job.moved, job.ready) == (tasks, [], {}, 0)
            return None
        assert {entry.row for entry in statement.steps} <= set(found.rows.tolist())
        return found.level


@settings(max_examples=examples(60), deadline=None)
@given(worlds())
def test_counts_by_domain_are_those_of_nodes_one_by_one(world: World) -> None:
    session = opened(*world, PLAIN)
    nodes = session.nodes
    for job in session.jobs.values():
        tasks = session.pending_tasks(job, best_effort=False)
        if not tasks:
            continue
        batch = session.places.task_set(tasks, 1)
        for tier in session.places.tiers.tiers:
            look = session.places.look(batch, tier, None, {})
            for number in range(len(tier.domains)):
                rows = [row for row in range(len(nodes)) if tier.ids[row] == number]
                fits = 0
                for kind in batch.kinds:
                    request = kind.first.shape.request
                    each = [
                        min(max(0, nodes.future_idle_at(c, row)) // amount for c, amount in request) for row in rows
                    ]
                    fits += min(kind.tasks, sum(each))
                assert int(look.counts.fits[number]) == fits
                assert session.places.domain(tier, number).rows.tolist() == rows
