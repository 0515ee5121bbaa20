"""Jobs with sub-groups: which go first, what is whole or not at all, and where each sub-group goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import policy_of
from tests.support.topologies import BLOCK, EIGHT, RACK, RACKS, SOFT, Tree, nodes_of, snapshot_of, with_sub_groups
from vsched.actions.words import of_sub_group
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.places import words
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.framework.words.jobs import fits_but_waits, sub_group_reaches_minimum
from vsched.model.pods.status import HOLDS, Status
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.model.topology.subgroups import NO_POLICY
from vsched.settings.built_in import REGISTRY

PLAIN = policy_of("priority gang", "predicates")
"""No plugin scores nodes: of equal nodes the first by name is taken."""


def workers(size: int, minimum: int, topology: NetworkTopology | None = None, name: str = "w") -> SubGroupPolicy:
    return SubGroupPolicy(name, size, minimum, match_keys=(name,), topology=topology)


def world(
    text: str, policies: Sequence[SubGroupPolicy], wish: NetworkTopology | None = None, tree: Tree = RACKS
) -> Snapshot:
    """A cluster whose job ``ns/a`` has these sub-groups."""
    return with_sub_groups(snapshot_of(text, tree, {} if wish is None else {"ns/a": wish}), *policies)


def decided(
    text: str,
    policies: Sequence[SubGroupPolicy],
    wish: NetworkTopology | None = None,
    policy: Policy = PLAIN,
) -> Session:
    return run_actions(world(text, policies, wish), policy, REGISTRY, Trace())


def pods(group: str, count: int, cpu: int = 4, *more: str) -> str:
    """Lines for the pods of a sub-group ``policy:value`` of the job ns/a; without a group, for other pods of it."""
    labels = f"labels={group}" if group else ""
    return f"\npods ns/a {count} cpu={cpu} {labels} {' '.join(more)}"


def full(*nodes: int) -> str:
    """Pods of another job that fill these nodes."""
    return "".join(f"\npods ns/old 1 cpu=4 on=n{node}" for node in nodes)


def placed(session: Session) -> dict[str, list[str]]:
    """By sub-group of ns/a, the nodes of its pods; those that wait for others to leave have a star."""
    nodes, view = nodes_of(session, "ns/a"), session.jobs["ns/a"]
    assert view.sub_groups is not None
    found: dict[str, list[str]] = {}
    for task in view.job.tasks.values():
        if task.name in nodes:
            found.setdefault(view.sub_groups.of(task).name, []).append(nodes[task.name])
    return {name: sorted(nodes) for name, nodes in sorted(found.items())}


@pytest.mark.parametrize(
    ("text", "policies", "wish", "expected"),
    [
        pytest.param(
            "\njob ns/a min=4" + pods("w:a", 2) + pods("w:b", 2),
            [workers(2, 2, RACK)],
            None,
            {"w/a": ["n1", "n2"], "w/b": ["n3", "n4"]},
            id="each sub-group in a rack of its own",
        ),
        pytest.param(
            "\npods ns/old 1 cpu=1 on=n1\njob ns/a min=4" + pods("w:a", 2) + pods("w:b", 2),
            [workers(2, 2, RACK)],
            BLOCK,
            {"w/a": ["n5", "n6"], "w/b": ["n7", "n8"]},
            id="all in one block, which has room for both",
        ),
        pytest.param(
            "\npods ns/old 1 cpu=1 on=n1\npods ns/old 1 cpu=1 on=n5\njob ns/a min=4" + pods("w:a", 2) + pods("w:b", 2),
            [workers(2, 2, RACK)],
            BLOCK,
            {},
            id="no block has room for both: nothing is placed",
        ),
        pytest.param(
            "\njob ns/a min=3" + pods("w:a", 3),
            [workers(3, 1, RACK)],
            None,
            {},
            id="a hard tier that is too small for a sub-group",
        ),
        pytest.param(
            "\njob ns/a min=3" + pods("w:a", 3),
            [workers(3, 1, SOFT)],
            None,
            {"w/a": ["n1", "n2", "n3"]},
            id="a wish goes as far as needed, and not further: to the block",
        ),
        pytest.param(
            "\njob ns/a min=2" + pods("w:a", 2) + pods("w:b", 2) + pods("w:c", 2),
            [workers(2, 1)],
            None,
            {"w/a": ["n1", "n2"], "w/b": ["n3", "n4"], "w/c": ["n5", "n6"]},
            id="sub-groups without a topology",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5) + "\njob ns/a min=2" + pods("w:a", 2) + pods("w:b", 2),
            [workers(2, 1)],
            None,
            {"w/a": ["n6", "n7"]},
            id="one that is not needed gets its whole minimum or nothing, though a node is free",
        ),
        pytest.param(
            "\njob ns/a min=4" + pods("w:a", 4) + pods("w:b", 4),
            [workers(2, 2, RACK)],
            None,
            {"w/a": ["n1", "n2"], "w/b": ["n3", "n4"]},
            id="siblings get their minimum before one gets more; its own rack has no room for more",
        ),
        pytest.param(
            full(1, 2, 3) + "\njob ns/a min=4" + pods("w:a", 4) + pods("w:b", 4),
            [workers(2, 2)],
            None,
            {"w/a": ["n4", "n5", "n8"], "w/b": ["n6", "n7"]},
            id="after the minima, pod by pod",
        ),
        pytest.param(
            "\njob ns/a min=6" + pods("w:a", 3) + pods("w:b", 3),
            [workers(2, 2)],
            None,
            {"w/a": ["n1", "n2", "n5"], "w/b": ["n3", "n4", "n6"]},
            id="the job's minimum is larger than that of its sub-groups",
        ),
        pytest.param(
            full(1, 2, 3) + "\njob ns/a min=6" + pods("w:a", 3) + pods("w:b", 3),
            [workers(2, 2)],
            None,
            {},
            id="and cannot be met",
        ),
        pytest.param(
            "\njob ns/a min=2" + pods("w:a", 2, 8) + pods("w:b", 2),
            [workers(2, 1, RACK)],
            None,
            {"w/b": ["n1", "n2"]},
            id="one that cannot be placed is made up for by another",
        ),
        pytest.param(
            "\npods ns/old 1 cpu=2 on=n3\njob ns/a min=3" + pods("v:x", 1) + pods("w:y", 2),
            [workers(1, 1, RACK, "v"), workers(2, 1, RACK)],
            NetworkTopology(highest_tier=2),
            {"v/x": ["n4"], "w/y": ["n1", "n2"]},
            id="a small one does not take the rack that a large one needs",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6) + "\njob ns/a min=2" + pods("w:a", 2) + pods("w:b", 2, 4, "priority=5"),
            [workers(2, 1)],
            None,
            {"w/b": ["n7", "n8"]},
            id="the one with the highest priority goes first",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6) + "\njob ns/a min=2" + pods("w:10", 2) + pods("w:2", 2),
            [workers(2, 1)],
            None,
            {"w/2": ["n7", "n8"]},
            id="then the lowest number",
        ),
        pytest.param(
            "\njob ns/a min=2" + pods("w:a", 1, 4, "on=n3") + pods("w:a", 1),
            [workers(2, 1, RACK)],
            None,
            {"w/a": ["n3", "n4"]},
            id="a pod that runs pins its sub-group",
        ),
        pytest.param(
            "\npods ns/old 1 cpu=4 on=n4\njob ns/a min=2" + pods("w:a", 1, 4, "on=n3") + pods("w:a", 1),
            [workers(2, 1, RACK)],
            None,
            {"w/a": ["n3"]},
            id="and its other pods wait where there is no room next to it",
        ),
        pytest.param(
            "\njob ns/a min=2" + pods("w:a", 1, 4, "on=n3") + pods("w:b", 2),
            [workers(2, 1, RACK)],
            None,
            {"w/a": ["n3"], "w/b": ["n1", "n2"]},
            id="pods of other sub-groups pin nothing",
        ),
        pytest.param(
            "\njob ns/a min=2" + pods("w:a", 1, 4, "on=n5") + pods("w:b", 2),
            [workers(2, 1, RACK)],
            BLOCK,
            {"w/a": ["n5"], "w/b": ["n7", "n8"]},
            id="but they pin the job",
        ),
        pytest.param(
            "\njob ns/a min=3" + pods("w:a", 2) + pods("", 1),
            [workers(2, 1, RACK)],
            None,
            {"the other pods": ["n3"], "w/a": ["n1", "n2"]},
            id="pods of no policy go last",
        ),
        pytest.param(
            "\njob ns/a min=1" + pods("w:a", 2),
            [workers(3, 0)],
            None,
            {},
            id="a sub-group without enough pods is not placed, needed or not",
        ),
        pytest.param(
            "\njob ns/a min=1" + pods("w:a", 2),
            [workers(0, 1, RACK)],
            None,
            {"w/a": ["n1", "n2"]},
            id="without a size, pods come one by one",
        ),
    ],
)
def test_where_sub_groups_go(
    text: str, policies: Sequence[SubGroupPolicy], wish: NetworkTopology | None, expected: dict[str, list[str]]
) -> None:
    assert placed(decided(EIGHT + text, policies, wish)) == expected


def test_where_the_order_does_not_work_out_the_larger_sub_group_goes_first() -> None:
    """The small one would take the rack with the least room, which is the only one with memory for the large one."""
    memory = ("64Gi", "64Gi", "8Gi", "8Gi")
    cores = (4, 4, 8, 8)
    nodes = "".join(f"\nnode n{at + 1} cpu={cores[at]} memory={memory[at]}" for at in range(4))
    text = f"{nodes}\njob ns/a min=3" + pods("v:x", 1, 4, "memory=1Gi") + pods("w:y", 2, 4, "memory=32Gi")

    session = decided(text, [workers(1, 1, RACK, "v"), workers(2, 1, RACK)])

    assert placed(session) == {"v/x": ["n3"], "w/y": ["n1", "n2"]}


@pytest.mark.parametrize(
    ("text", "policies", "message"),
    [
        pytest.param(
            "\njob ns/a min=3" + pods("w:a", 3),
            [workers(3, 1, RACK)],
            of_sub_group("w/a", words.no_room("r1 of tier 1 (rack)", 2, 3, [(4, "tier 1 (rack)")])),
            id="no domain has room for the sub-group",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5, 6, 7) + "\njob ns/a min=2" + pods("w:a", 2),
            [workers(2, 1)],
            "sub-group w/a needs 2, 1 fits: 8 nodes have too little cpu",
            id="the nodes have no room for it",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5) + "\njob ns/a min=4" + pods("w:a", 2) + pods("w:b", 2),
            [workers(2, 2)],
            "the gang needs 4, 3 fit: sub-groups w/a and w/b together need 16 cpu; usable nodes have 12 free",
            id="the last of those that the job needs",
        ),
        pytest.param(
            full(1, 2, 3, 4, 5) + "\njob ns/a min=2" + pods("w:a", 2) + pods("w:b", 2),
            [workers(2, 1)],
            "sub-group w/b needs 2, 1 fits: 8 nodes have too little cpu",
            id="one that the job could do without",
        ),
        pytest.param(
            "\njob ns/a min=2" + pods("w:a", 2) + pods("v:b", 1),
            [workers(2, 1), workers(2, 0, name="v")],
            "sub-group v/b needs 2 pods, and 1 exists",
            id="one that is not needed lacks pods",
        ),
    ],
)
def test_what_is_said_of_a_sub_group_that_waits(text: str, policies: Sequence[SubGroupPolicy], message: str) -> None:
    report = run_cycle(world(EIGHT + text, policies), PLAIN, REGISTRY)

    assert report.jobs["ns/a"].message == message


def test_what_is_said_of_a_pod_whose_sub_group_waits() -> None:
    text = full(1, 2, 3, 4, 5) + "\njob ns/a min=2" + pods("w:a", 2) + pods("w:b", 2)

    report = run_cycle(world(EIGHT + text, [workers(2, 1)]), PLAIN, REGISTRY)

    why = {one.name: one.message for one in report.unschedulable.values() if one.job == "ns/a"}
    assert why["a.2"] == fits_but_waits(sub_group_reaches_minimum("w/b", 2, of_groups=False))


def test_a_sub_group_beyond_the_needed_ones_is_not_bound_in_part_while_others_leave() -> None:
    text = full(1, 2, 3, 4) + "\npods ns/old 1 cpu=4 on=n5 leaving\njob ns/a min=2" + pods("w:a", 2) + pods("w:b", 2)

    report = run_cycle(world(EIGHT + text, [workers(2, 1)]), PLAIN, REGISTRY)

    assert {bind.node for bind in report.binds} == {"n6", "n7"}


# -- properties ---------------------------------------------------------------------------------------------------

CORES = st.integers(1, 4)
WISHES = st.sampled_from((None, RACK, BLOCK, SOFT))


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Racks and blocks of small nodes, some of them in use, and a job with sub-groups of one or two policies."""
    lines = [f"node n{number} cpu={draw(CORES)}" for number in range(1, 9)]
    used = draw(st.lists(st.integers(1, 8), max_size=4, unique=True))
    lines += [f"pods ns/old 1 cpu=1 on=n{number} {draw(st.sampled_from(('', 'leaving')))}" for number in used]
    policies = [workers(draw(st.integers(1, 3)), draw(st.integers(0, 3)), draw(WISHES))]
    if draw(st.booleans()):
        policies.append(workers(draw(st.integers(1, 2)), draw(st.integers(0, 1)), draw(WISHES), "v"))
    lines.append(f"job ns/a min={draw(st.integers(1, 6))} phase=Inqueue")
    for name in ("w:a", "w:b", "w:c", "v:a", ""):
        places = draw(st.lists(st.sampled_from(("", "", "", "on=n1", "on=n3")), max_size=4))
        lines += [pods(name, 1, draw(st.integers(0, 2)), where) for where in places]
    return world("\n".join(lines), policies, draw(WISHES))


def nodes_by_group(session: Session, *, bound: bool) -> dict[str, set[str]]:
    """Nodes of the pods of each sub-group of ns/a; with ``bound``, of those that this session binds."""
    view = session.jobs["ns/a"]
    assert view.sub_groups is not None
    names = session.nodes.statics.names
    found: dict[str, set[str]] = {}
    for entry in session.decisions.committed:
        if entry.job is view and entry.status is Status.ALLOCATED:
            found.setdefault(view.sub_groups.of(entry.task).name, set()).add(names[entry.row])
    for task in () if bound else view.job.tasks.values():
        if HOLDS[task.status].allocated:
            found.setdefault(view.sub_groups.of(task).name, set()).add(task.node)
    return found


def closest(nodes: set[str]) -> int:
    """The number of the closest tier with a domain that holds all of these nodes."""
    holding = [tier for tier, members in RACKS.values() if nodes <= leaves(members)]
    return min(holding, default=4)


def leaves(members: str) -> set[str]:
    return {node for one in members.split() for node in (leaves(RACKS[one][1]) if one in RACKS else {one})}


def allows(wish: NetworkTopology | None, nodes: set[str]) -> bool:
    return wish is None or not wish.hard or not nodes or closest(nodes) <= (wish.highest_tier or 4)


@settings(max_examples=examples(150))
@given(worlds())
def test_what_is_bound_is_whole_and_close(snapshot: Snapshot) -> None:
    before = [(job.key, uid, task.status) for job in snapshot.jobs.values() for uid, task in job.tasks.items()]
    policy = policy_of("priority gang", "predicates nodeorder")
    session = run_actions(snapshot, policy, REGISTRY, Trace())
    view = session.jobs.get("ns/a")
    if view is None or view.sub_groups is None:
        return
    names = [entry.task.name for entry in session.decisions.committed if entry.status is Status.ALLOCATED]
    assert len(names) == len(set(names))
    bound, all_nodes = nodes_by_group(session, bound=True), nodes_by_group(session, bound=False)
    counts = Counter(
        view.sub_groups.of(entry.task).name for entry in session.decisions.committed if entry.status is Status.ALLOCATED
    )
    for task in view.job.tasks.values():
        counts[view.sub_groups.of(task).name] += HOLDS[task.status].ready

    complete = Counter[int]()
    for group in view.sub_groups.groups.values():
        pending = sum(
            task.best_effort and task.uid not in view.moved
            for task in view.job.pending.values()
            if view.sub_groups.of(task) is group
        )
        is_whole = counts[group.name] + pending >= group.minimum
        complete[group.key.policy] += is_whole
        if group.name in bound:
            assert group.key.policy == NO_POLICY or is_whole
            old = {task.node for task in view.job.tasks.values() if task.node and view.sub_groups.of(task) is group}
            assert allows(group.topology, all_nodes[group.name]) or not allows(group.topology, old)
    if bound:
        assert all(complete[at] >= one.minimum for at, one in enumerate(view.spec.sub_groups))
        assert sum(counts.values()) + view.best_effort_pending >= view.min_member
        old = {task.node for task in view.job.tasks.values() if task.node}
        assert allows(view.spec.topology, set().union(*all_nodes.values())) or not allows(view.spec.topology, old)
    assert before == [(job.key, uid, task.status) for job in snapshot.jobs.values() for uid, task in job.tasks.items()]
    one, other = (run_cycle(snapshot, policy, REGISTRY) for _ in range(2))
    assert (one.binds, one.jobs) == (other.binds, other.jobs)


@settings(max_examples=examples(60))
@given(worlds())
def test_a_job_that_does_not_start_leaves_no_trace(snapshot: Snapshot) -> None:
    policy = policy_of("priority gang", "predicates nodeorder", actions="allocate")
    session = run_actions(snapshot, policy, REGISTRY, Trace())
    if not session.ledger.log:
        for mine, theirs in (
            (session.nodes.idle, snapshot.nodes.idle),
            (session.nodes.requested, snapshot.nodes.requested),
            (session.nodes.pipelined, snapshot.nodes.pipelined),
            (session.nodes.releasing, snapshot.nodes.releasing),
        ):
            assert mine.tolist() == theirs.tolist()


@settings(max_examples=examples(80))
@given(
    st.lists(st.integers(0, 4), min_size=8, max_size=8),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from((None, BLOCK)),
)
def test_a_job_of_equal_sub_groups_starts_where_racks_have_room_for_them(
    free: list[int], size: int, minimum: int, wish: NetworkTopology | None
) -> None:
    nodes = "".join(f"\nnode n{number + 1} cpu=4" for number in range(8))
    used = "".join(f"\npods ns/old 1 cpu={4 - one} on=n{at + 1}" for at, one in enumerate(free) if one < 4)
    groups = "".join(pods(f"w:{number}", size, 1) for number in range(minimum))
    text = f"{nodes}{used}\njob ns/a min={minimum * size}{groups}"
    fits = {
        rack: sum(free[int(node[1:]) - 1] for node in members.split()) // size
        for rack, (tier, members) in RACKS.items()
        if tier == 1
    }
    blocks = [("r1", "r2"), ("r3", "r4")] if wish is not None else [tuple(fits)]

    starts = bool(placed(decided(text, [workers(size, minimum, RACK)], wish)))

    assert starts is any(sum(fits[rack] for rack in block) >= minimum for block in blocks)
