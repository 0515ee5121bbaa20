"""Numbers in a spec cost nothing: what is looked for, simulated and foreseen does not grow with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support import oversized as big
from tests.support.plans import DEFAULT_POLICY, NOW, check, manifests, mirror, policy_of
from vsched.explain.candidates.levers import wants_of
from vsched.explain.candidates.search import ADDED_MAX, levers
from vsched.explain.changes import changes
from vsched.explain.edits.nodes import SetNodeAmount
from vsched.explain.edits.pods import AddPods
from vsched.explain.estimate.start_times import estimate
from vsched.explain.explaining import explain
from vsched.explain.order import waiting_order
from vsched.explain.records import Explanation
from vsched.explain.simulation import Goal, Spent, until
from vsched.explain.situation import Situation
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.trace import Trace
from vsched.mirror.ingest.bounds import ROLES_MAX
from vsched.model.amounts.quantity import MOST
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

Manifest = dict[str, Any]
KEY = "tenant/big"


def decided(group: Manifest, nodes: int = 3) -> tuple[Snapshot, CycleReport]:
    """A session with the PodGroup and one pod of it."""
    cache = mirror(manifests("\n".join(f"node n{number} cpu=4" for number in range(nodes))))
    pod = big.pod("member")
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "big"}
    for one in (group, pod):
        cache.intake.apply(one["kind"], "ADDED", make.read(one))
    snapshot = cache.snapshot(NOW)
    return snapshot, run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)


HUGE = [
    pytest.param(big.group(minMember=big.INT32_MAX), id="a minimum of two billion pods"),
    pytest.param(big.group(minMember=1, minTaskMember={"worker": big.INT32_MAX}), id="a role of two billion pods"),
    pytest.param(big.roles(ROLES_MAX), id="as many roles as are read, of two billion pods each"),
    pytest.param(big.roles(ROLES_MAX, 4_000), id="as many roles, of a few thousand pods each"),
    pytest.param(
        big.group(minMember=big.INT32_MAX, minResources={"cpu": "9223372036854775807", "memory": "8191Pi"}),
        id="amounts as large as can be written",
    ),
]


@pytest.mark.parametrize("group", HUGE)
def test_explaining_a_huge_job_comes_to_an_end(group: Manifest) -> None:
    snapshot, report = decided(group)
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "tenant", "big", foreseen=lambda: False)
    assert isinstance(found, Explanation)
    assert found.message


@pytest.mark.parametrize(
    ("minimum", "offered"),
    [
        pytest.param(5, [4], id="a few pods that do not exist are made up"),
        pytest.param(600, [599], id="as many as there is room for, and as many again"),
        pytest.param(1_000, [], id="not more than nodes could hold"),
        pytest.param(big.INT32_MAX, [], id="never two billions"),
    ],
)
def test_pods_are_made_up_as_far_as_the_cluster_could_hold_them(minimum: int, offered: list[int]) -> None:
    snapshot, _ = decided(big.group(minMember=minimum))
    wants = wants_of(Situation(snapshot, DEFAULT_POLICY), REGISTRY, KEY)
    edits = [edit for lever in levers(wants) for edit in lever.edits(lever.most)]
    assert [edit.count for edit in edits if isinstance(edit, AddPods)] == offered


def test_pods_are_made_up_to_a_bound_however_large_the_cluster() -> None:
    snapshot, _ = decided(big.group(minMember=ADDED_MAX + 2), nodes=100)
    wants = wants_of(Situation(snapshot, DEFAULT_POLICY), REGISTRY, KEY)
    assert not any(isinstance(edit, AddPods) for lever in levers(wants) for edit in lever.edits(1))


# -- work that nobody waits for ends --------------------------------------------------------------------------------


class After:
    """Says that it is over once it was asked so many times."""

    def __init__(self, questions: int) -> None:
        self.left = questions

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


MANY = "\n".join(["node n1 cpu=64 pods=999", "job ns/many min=1 pods=200 cpu=100m", "job ns/a min=1 pods=1 cpu=100"])


@pytest.mark.parametrize("questions", [0, 1, 57])
def test_a_cycle_ends_in_its_midst(questions: int) -> None:
    snapshot = mirror(manifests(MANY)).snapshot(NOW)
    over = After(questions)
    with pytest.raises(Spent):
        run_actions(snapshot, DEFAULT_POLICY, REGISTRY, until(over))
    assert over.left == -1, "it is asked once more and no further"


def test_a_cycle_that_is_let_go_on_decides_the_same() -> None:
    snapshot = mirror(manifests(MANY)).snapshot(NOW)
    watched = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY, until(lambda: False))
    assert watched.binds == run_cycle(snapshot, DEFAULT_POLICY, REGISTRY, Trace()).binds


def test_a_search_ends_with_what_it_has_once_it_is_over() -> None:
    snapshot = mirror(manifests(MANY)).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    whole = changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns/a")
    assert whole.complete
    for questions in (0, 10):
        cut = changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns/a", over=After(questions))
        assert not cut.complete


def test_an_estimate_ends_without_a_time_once_it_is_over() -> None:
    text = """
        node n1 cpu=4
        job ns/old min=1 phase=Running vsched.io/expected-duration=1h
        pods ns/old 1 cpu=4 on=n1 started=60
        job ns/a min=1 pods=1 cpu=4
    """
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    order = waiting_order(snapshot, DEFAULT_POLICY, REGISTRY)
    assert estimate(snapshot, DEFAULT_POLICY, REGISTRY, report, Goal("ns/a"), order).earliest is not None
    found = estimate(snapshot, DEFAULT_POLICY, REGISTRY, report, Goal("ns/a"), order, over=lambda: True)
    assert "too many jobs go first" in found.message


@pytest.mark.parametrize("weighted", ["proportion", "capacity"])
def test_nodes_with_amounts_as_large_as_can_be_written_add_up(weighted: str) -> None:
    """A device plugin that has no limit says the largest number; with ten such nodes the sum is beyond 64 bits."""
    nodes = "\n".join(f"node n{number} cpu=4 memory=9e18 gpu=9223372036854775807" for number in range(12))
    jobs = (
        "job ns/a min=1 pods=1 cpu=1 gpu=1\njob ns/b min=2 pods=2 cpu=1 gpu=9223372036854775807\njob ns/c pods=1 cpu=9"
    )
    policy = policy_of("priority gang", f"predicates {weighted} overcommit")
    snapshot = mirror(manifests(f"{nodes}\n{jobs}")).snapshot(NOW)
    report = run_cycle(snapshot, policy, REGISTRY)
    check(snapshot, policy, report)
    assert [bind.name for bind in report.binds] == ["a.0", "b.0", "b.1"]
    found = explain(snapshot, policy, REGISTRY, report, "ns", "c")
    assert found is not None
    assert found.changes


def test_no_change_makes_a_node_larger_than_nodes_are_read() -> None:
    nodes = "\n".join(f"node n{number} cpu=4" for number in range(8))
    snapshot = mirror(manifests(f"{nodes}\njob ns/a min=8 pods=8 cpu=1 memory=1Ei apart=a")).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    assert isinstance(explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a"), Explanation)
    situation = Situation(snapshot, DEFAULT_POLICY)
    tried = levers(wants_of(situation, REGISTRY, "ns/a"))
    larger = [edit for lever in tried for edit in lever.edits(lever.most) if isinstance(edit, SetNodeAmount)]
    assert larger
    assert all(edit.amount <= MOST for edit in larger)


def test_a_gang_of_several_kinds_whose_requests_go_beyond_64_bits_is_counted() -> None:
    nodes = "node n1 cpu=4 memory=9e18\nnode n2 cpu=4 memory=9e18\npods ns/full 1 cpu=9 on=n1"
    gang = "job ns/a min=11\npods ns/a 2 cpu=3\npods ns/a 9 cpu=1 memory=1Ei"
    snapshot = mirror(manifests(f"{nodes}\n{gang}")).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    check(snapshot, DEFAULT_POLICY, report)
    assert report.jobs["ns/a"].message.startswith("the gang needs 11, 2 fit: pods like a.0 need 6 cpu")
