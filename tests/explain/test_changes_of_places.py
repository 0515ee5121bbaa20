"""What would help a job that waits for closeness: a wider tier, jobs that end, nodes in the right domain."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY
from tests.support.topologies import RACKS, Tree, snapshot_of
from vsched.explain.changes import changes
from vsched.explain.edits.jobs import SetHighestTier
from vsched.explain.edits.nodes import AddNodes
from vsched.explain.edits.others import EndJobs
from vsched.explain.records import Change
from vsched.explain.situation import Situation, apply_all
from vsched.explain.words import edits
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.trace import Trace
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import WHOLE_CLUSTER
from vsched.settings.built_in import REGISTRY

RACK = NetworkTopology(highest_tier=1)
BY_PATTERN: Tree = {**RACKS, "r1": (1, "~^n1 ~^n2"), "r2": (1, "~^n3 ~^n4"), "r3": (1, "~^n5 ~^n6")}
"""The racks find their nodes by patterns, which find new ones as well."""
NODES = "".join(f"node n{number} cpu=4\n" for number in range(1, 9))


def holds(job: str, cpu: int, *nodes: int) -> str:
    """A job that holds so much cpu on each of these nodes."""
    pods = "".join(f"pods {job} 1 cpu={cpu} on=n{node} named={job.partition('/')[2]}{node}\n" for node in nodes)
    return f"job {job} min={len(nodes)} phase=Running\n{pods}"


WANT = "job ns/a phase=Inqueue min=2 pods=2 cpu=4\n"
FULL = NODES + "".join(holds(f"x/f{number}", 4, number) for number in (1, 3, 5)) + holds("x/big", 4, 7, 8)
"""Each of the racks r1, r2 and r3 has one free node, r4 none."""


def found(text: str, wish: NetworkTopology = RACK, tree: Tree = RACKS) -> tuple[Snapshot, tuple[Change, ...]]:
    snapshot = snapshot_of(text, tree, {"ns/a": wish})
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    return snapshot, changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns/a", most=20).changes


def said(text: str, wish: NetworkTopology = RACK, tree: Tree = RACKS) -> list[str]:
    return [one.message for one in found(text, wish, tree)[1]]


def start(snapshot: Snapshot, change: Change) -> tuple[bool, str, int | None]:
    """Whether the job starts in a whole cycle after the change, and in which domain."""
    edited = apply_all(Situation(snapshot, DEFAULT_POLICY), change.edits)
    session = run_actions(edited.snapshot, edited.policy, REGISTRY, Trace())
    view = session.jobs["ns/a"]
    where = session.places.settled(view, waiting=True)
    starts = view.ready + view.waiting >= view.min_member
    return starts, "" if where is None else where.name, None if where is None else where.level


@pytest.mark.parametrize(
    ("text", "wish", "message"),
    [
        pytest.param(FULL + WANT, RACK, "highestTierAllowed 2 (now 1), in b1 of tier 2 (block)", id="the next tier"),
        pytest.param(
            FULL + WANT.replace("min=2 pods=2", "min=3 pods=3"),
            NetworkTopology(tier_name="rack"),
            "highestTierAllowed 3 (now rack), in top of tier 3",
            id="the closest tier with room, where the limit is a name",
        ),
        pytest.param(FULL + WANT, RACK, f"{edits.end_of('job x/f1')}, in r1 of tier 1 (rack)", id="one job that ends"),
        pytest.param(
            NODES + "".join(holds(f"x/f{n}", 4, n) for n in range(1, 9)) + WANT,
            RACK,
            f"{edits.end_of('jobs x/f1, x/f2')}, in r1 of tier 1 (rack)",
            id="two jobs, where one is not enough",
        ),
    ],
)
def test_what_would_help(text: str, wish: NetworkTopology, message: str) -> None:
    assert message in said(text, wish)


def test_more_nodes_help_where_patterns_put_them_in_a_domain_and_not_where_it_lists_names() -> None:
    assert "1 more node like n1, in r1 of tier 1 (rack)" in said(FULL + WANT, RACK, BY_PATTERN)
    assert not any("more node" in one for one in said(FULL + WANT))


def test_the_least_of_jobs_that_could_end_is_the_smallest_change() -> None:
    ends = [one for one in said(FULL + WANT) if one.startswith("the end")]
    assert ends[0] == f"{edits.end_of('job x/f1')}, in r1 of tier 1 (rack)"
    assert not any("f1, x/f" in one for one in ends), "one is enough"


def test_pods_with_a_node_say_in_which_domain_more_nodes_help() -> None:
    text = FULL + "job ns/a phase=Inqueue min=2\npods ns/a 1 cpu=4 on=n6\npods ns/a 1 cpu=4 named=more\n"
    messages = said(text, RACK, BY_PATTERN)
    assert f"{edits.end_of('job x/f5')}, in r3 of tier 1 (rack)" in messages
    assert "1 more node like n5, in r3 of tier 1 (rack)" in messages
    assert not any("r1" in one or "r2" in one for one in messages)


@pytest.mark.parametrize(
    "wish",
    [
        pytest.param(NetworkTopology(hard=False), id="soft"),
        pytest.param(NetworkTopology(), id="hard without a limit"),
        pytest.param(NetworkTopology(highest_tier=4), id="the whole cluster is allowed"),
    ],
)
def test_no_wider_tier_is_proposed_where_none_is_ruled_out(wish: NetworkTopology) -> None:
    text = NODES + "".join(holds(f"x/f{n}", 4, n) for n in range(1, 9)) + WANT
    assert not any("highestTier" in one for one in said(text, wish))


def test_where_no_tiers_are_known_no_domain_is_told() -> None:
    assert not any(one.domain or "highestTier" in one.message for one in found(FULL + WANT, RACK, {})[1])


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.sampled_from((0, 2, 4)), min_size=8, max_size=8),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from((RACKS, BY_PATTERN)),
)
def test_every_change_lets_the_job_start_where_it_says(held: list[int], pods: int, tier: int, tree: Tree) -> None:
    text = NODES + "".join(holds(f"x/f{n}", cpu, n) for n, cpu in enumerate(held, start=1) if cpu)
    text += f"job ns/a phase=Inqueue min={pods} pods={pods} cpu=2\n"
    snapshot, proposed = found(text, NetworkTopology(highest_tier=tier), tree)
    for change in proposed:
        assert start(snapshot, change) == (True, change.domain, change.tier)
        for edit in change.edits:
            match edit:
                case SetHighestTier():
                    assert change.tier == edit.tier
                    lower = apply_all(
                        Situation(snapshot, DEFAULT_POLICY), [SetHighestTier("ns/a", edit.tier - 1)]
                    ).snapshot
                    assert not start(lower, Change("", ()))[0]
                case EndJobs():
                    assert all(key.startswith("x/f") for key in edit.jobs)
                case AddNodes() if change.tier is not None:
                    assert change.tier <= tier or change.domain == WHOLE_CLUSTER
