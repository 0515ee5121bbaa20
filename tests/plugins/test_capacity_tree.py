"""capacity with queues in a tree: places, limits from above, order, and what is said of broken parts."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.plugins.quota_world import Quotas, cpu
from tests.support.plans import plan
from vsched.framework.policy import Policy
from vsched.model.amounts.resources import CPU, Amounts
from vsched.plugins.words import queues as words
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY


def tree(**queues: dict[str, Any]) -> Quotas:
    """Queues in a tree; ``holds`` and ``wants`` are numbers of pods of one core."""
    world = Quotas(hierarchy=True)
    for name, fields in queues.items():
        world.queue(name, fields.pop("holds", 0), wants=fields.pop("wants", 0), **fields)
    return world


def policy() -> Policy:
    plugins = [{"name": "gang"}, {"name": "capacity", "enableHierarchy": True}, {"name": "predicates"}]
    return load_text(
        yaml.safe_dump({"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": plugins}]}), "policy", REGISTRY
    ).policy


# -- limits from above ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "amount", "refusal"),
    [
        pytest.param(tree(p={}, a={"parent": "p"}), 10_000, "", id="where no queue has a limit, all there is"),
        pytest.param(tree(p={"capability": cpu(4000)}, a={"parent": "p", "holds": 2}), 2000, "", id="as far as above"),
        pytest.param(
            tree(p={"capability": cpu(4000)}, a={"parent": "p"}, b={"parent": "p", "holds": 3}),
            2000,
            words.over_limit("p", "a", "cpu"),
            id="what siblings hold counts above",
        ),
        pytest.param(
            tree(p={"capability": cpu(4000)}, a={"parent": "p", "capability": cpu(9000)}),
            4001,
            words.over_limit("a", "a", "cpu"),
            id="a capability above the parent's is cut to it",
        ),
        pytest.param(
            tree(p={}, a={"parent": "p"}, q={"guarantee": cpu(3000)}),
            7001,
            words.over_limit("a", "a", "cpu"),
            id="guarantees are kept free at the top",
        ),
        pytest.param(
            tree(p={"capability": cpu(6000)}, a={"parent": "p"}, b={"parent": "p", "guarantee": cpu(2000)}),
            4001,
            words.over_limit("a", "a", "cpu"),
            id="and further down",
        ),
        pytest.param(
            tree(root={"capability": cpu(3000)}, a={}),
            3001,
            words.over_limit("a", "a", "cpu"),
            id="by the root",
        ),
        pytest.param(
            tree(root={"capability": cpu(3000)}, a={}, b={"holds": 2}),
            2000,
            words.over_limit("root", "a", "cpu"),
            id="by what all hold",
        ),
        pytest.param(tree(p={"state": "Closed"}, a={"parent": "p"}), 1000, "", id="a closed parent closes no child"),
        pytest.param(
            tree(p={}, a={"parent": "p", "state": "Closed"}), 1, words.not_open("a", "Closed"), id="a closed queue is"
        ),
    ],
)
def test_what_a_queue_may_take(world: Quotas, amount: int, refusal: str) -> None:
    assert world.refusal("a", cpu(amount)) == refusal


def test_what_is_placed_counts_at_once_for_all_above() -> None:
    world = tree(p={"capability": cpu(4000)}, a={"parent": "p"}, b={"parent": "p", "wants": 4})
    assert world.refusal("a", cpu(2000)) == ""

    world.place("b-wants", 3)

    assert world.refusal("a", cpu(1000)) == ""
    assert world.refusal("a", cpu(2000)) == words.over_limit("p", "a", "cpu")
    division = world.plugin.division(world.found("p"))
    assert division is not None
    assert division.subtree[CPU] == 3000


@pytest.mark.parametrize(
    ("world", "wanted", "refusal"),
    [
        pytest.param(tree(p={}, a={"parent": "p"}), cpu(99_000), "", id="more than the cluster has: it may grow"),
        pytest.param(
            tree(root={"capability": cpu(20_000)}, a={}),
            cpu(20_001),
            words.quota_insufficient(words.called("a", "a"), "cpu"),
            id="but not than the root may hold",
        ),
        pytest.param(
            tree(p={"capability": cpu(5000)}, a={"parent": "p"}, b={"parent": "p", "holds": 2}),
            cpu(3001),
            words.quota_insufficient(words.called("p", "a"), "cpu"),
            id="nor than a queue above has left",
        ),
        pytest.param(tree(p={"capability": cpu(5000)}, a={"parent": "p"}), None, "", id="a job without a minimum is"),
    ],
)
def test_what_a_queue_admits(world: Quotas, wanted: Amounts | None, refusal: str) -> None:
    assert world.enqueueable(world.waiting("a", min_resources=wanted)) == refusal


def test_what_was_admitted_counts_for_all_above() -> None:
    world = tree(p={"capability": cpu(5000)}, a={"parent": "p"}, b={"parent": "p"})
    first, second = (world.waiting(name, f"{name}-new", min_resources=cpu(3000)) for name in "ab")
    world.plugin.job_enqueued(world.opening.jobs[first.key])

    assert world.enqueueable(second) == words.quota_insufficient(words.called("p", "b"), "cpu")


@pytest.mark.parametrize(
    ("level", "may"), [(0, False), (1, True), (2, True)], ids=["by itself", "with its parent", "with all above"]
)
def test_what_a_queue_above_deserves_may_be_claimed_as_far_up_as_asked(level: int, may: bool) -> None:
    world = Quotas(hierarchy=True, level=level).queue("p", deserved=cpu(4000)).queue("a", 2, parent="p")

    assert world.plugin.preemptive(world.found("a"), cpu(2000)) is may
    assert world.plugin.preemptive(world.found("a"), cpu(2001)) is False


# -- order ----------------------------------------------------------------------------------------------------------


def test_queues_go_by_what_the_branches_hold_that_part_them() -> None:
    world = tree(
        p={"deserved": cpu(4000)},
        q={"deserved": cpu(4000)},
        p1={"parent": "p", "deserved": cpu(2000), "holds": 3},
        p2={"parent": "p", "deserved": cpu(2000)},
        q1={"parent": "q", "deserved": cpu(1000), "holds": 1},
        q2={"parent": "q", "deserved": cpu(3000), "holds": 1},
    )

    assert world.in_order("p1", "p2", "q1", "q2") == ["q2", "q1", "p2", "p1"]


def test_priority_goes_before_branches_and_leaves_before_inner_queues() -> None:
    world = tree(p={"deserved": cpu(9000)}, a={"parent": "p", "holds": 9}, b={"holds": 1}, c={"priority": 1})

    assert world.in_order("p", "a", "b", "c") == ["c", "a", "b", "p"]


def test_the_order_follows_what_is_placed_elsewhere_in_a_branch() -> None:
    world = tree(
        p={"deserved": cpu(4000)},
        q={"deserved": cpu(4000)},
        p1={"parent": "p", "wants": 3},
        p2={"parent": "p", "deserved": cpu(1000)},
        q1={"parent": "q", "deserved": cpu(1000), "holds": 1},
    )
    assert world.plugin.queues_move_together()
    assert world.in_order("p2", "q1") == ["p2", "q1"]

    world.place("p1-wants", 2)

    assert world.in_order("p2", "q1") == ["q1", "p2"]


def test_branches_that_hold_alike_go_by_age() -> None:
    world = tree(
        p={"created": 2.0}, q={"created": 1.0}, a={"parent": "p", "deserved": cpu(9), "created": 0.0}, b={"parent": "q"}
    )

    assert world.in_order("a", "b") == ["b", "a"], "what a deserves decides among the children of p alone"


def test_victims_come_from_near_queues_first() -> None:
    queues = {"p": {}, "p1": {"parent": "p"}, "p2": {"parent": "p"}, "p11": {"parent": "p1"}, "p12": {"parent": "p1"}}
    world = tree(**queues, q={})
    keys = {name: world.plugin.victim_queue_key(world.found(name), world.found("p11")) for name in ("p12", "p2", "q")}

    assert sorted(keys, key=keys.__getitem__) == ["p12", "p2", "q"]
    assert len(set(keys.values())) == 3


# -- broken parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queues", "problem"),
    [
        pytest.param({"a": {"parent": "gone"}}, words.parent_gone("gone"), id="a parent that is not there"),
        pytest.param({"a": {"parent": "a"}}, words.circle("aa"), id="itself"),
        pytest.param(
            {"c": {"parent": "b"}, "b": {"parent": "a"}, "a": {"parent": "c"}},
            words.circle("acba"),
            id="a circle",
        ),
        pytest.param(
            {"a": {"parent": "b"}, "b": {"parent": "c"}, "c": {"parent": "gone"}},
            words.below_left_out("c", words.parent_gone("gone")),
            id="below a queue that is left out",
        ),
        pytest.param(
            {"a": {"parent": "b"}, "b": {"parent": "c"}, "c": {"parent": "b"}},
            words.below_left_out("b", words.circle("bcb")),
            id="below a circle",
        ),
    ],
)
def test_a_queue_without_a_place_gets_nothing_and_the_rest_goes_on(
    queues: dict[str, dict[str, Any]], problem: str
) -> None:
    world = tree(**queues, sound={"parent": ""}, x={"parent": "sound"})
    job = world.waiting("a", min_resources=cpu(1))

    assert world.problem("a") == problem
    assert world.refusal("a", cpu(1)) == words.ignored("a", problem) == world.enqueueable(job)
    assert world.plugin.preemptive(world.found("a"), cpu(1)) is False
    assert world.refusal("x", cpu(10_000)) == world.problem("x") == ""
    assert world.in_order("a", "x") == ["x", "a"]
    assert world.plugin.queue_score(world.found("a")) == 0
    assert world.plugin.victim_queue_key(world.found("a"), world.found("x")) == 0


def test_jobs_in_a_queue_with_children_get_nothing_and_the_children_go_on() -> None:
    world = tree(p={"wants": 1}, a={"parent": "p"})
    job = world.waiting("p", min_resources=cpu(1))
    told = words.not_leaf("p")

    assert world.refusal("p", cpu(1)) == told == world.enqueueable(job)
    assert world.plugin.preemptive(world.found("p"), cpu(1)) is False
    assert world.problem("p") == words.jobs_and_children("")
    assert world.refusal("a", cpu(1)) == world.problem("a") == ""


def test_what_runs_in_a_queue_with_children_counts() -> None:
    world = tree(p={"capability": cpu(4000), "holds": 3}, a={"parent": "p"})

    assert world.refusal("a", cpu(1000)) == ""
    assert world.refusal("a", cpu(1001)) == words.over_limit("p", "a", "cpu")


def test_a_tree_has_a_root_whether_there_is_an_object_or_not() -> None:
    implied, given = tree(a={}, b={"parent": "root"}), tree(root={"parent": "a"}, a={}, b={"parent": "root"})

    assert implied.refusal("b", cpu(1)) == given.refusal("b", cpu(1)) == ""
    assert given.problem("root") == "", "a parent of the root means nothing"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param({"deserved": cpu(2000)}, "", id="nothing where limits agree"),
        pytest.param({"capability": cpu(9000)}, "capability of cpu 9 to 4", id="a capability above the parent's"),
        pytest.param(
            {"deserved": cpu(5000), "guarantee": cpu(1500)},
            "guarantee of cpu 1500m to 1; deserved of cpu 5 to 3",
            id="deserved and guaranteed above the parent's",
        ),
    ],
)
def test_what_is_not_in_force_is_said(fields: dict[str, Amounts], problem: str) -> None:
    parent = {"capability": cpu(4000), "deserved": cpu(3000), "guarantee": cpu(1000)}
    world = tree(p=parent, a={"parent": "p", **fields})
    division = world.plugin.division(world.found("a"))

    assert division is not None
    assert (division.problem.reason if division.problem else "") == ("LimitsClipped" if problem else "")
    assert world.problem("a") == (words.reduced("p", problem) if problem else "")
    assert world.problem("p") == ""


# -- whole cycles ---------------------------------------------------------------------------------------------------


def test_a_cycle_keeps_every_queue_within_all_above_it() -> None:
    found = plan(
        """
        node n1 cpu=20
        queue p capability=cpu:5
        queue p1 parent=p deserved=cpu:2
        queue p2 parent=p deserved=cpu:2 capability=cpu:2
        queue q
        job ns/a queue=p1 pods=9 cpu=1
        job ns/b queue=p2 pods=9 cpu=1
        job ns/c queue=q pods=3 cpu=1
        """,
        policy(),
    )

    assert found.bound == {"a": 3, "b": 2, "c": 3}
    assert found.held("p")["cpu"] == 5000
    assert found.queues["p"].capability["cpu"] == 5000


def test_a_cycle_reports_what_is_wrong_and_serves_the_rest() -> None:
    found = plan(
        """
        node n1 cpu=9
        queue lost parent=gone
        queue p deserved=cpu:2
        queue p1 parent=p deserved=cpu:4
        job ns/lost queue=lost pods=1 cpu=1
        job ns/inner queue=p pods=1 cpu=1
        job ns/sound queue=p1 pods=2 cpu=1
        """,
        policy(),
    )

    assert found.bound == {"sound": 2}
    assert found.why("ns/lost.0") == words.ignored("lost", words.parent_gone("gone"))
    assert found.why("ns/inner.0") == words.not_leaf("p")
    assert found.queues["p1"].deserved["cpu"] == 2000


def test_turns_go_round_the_branches() -> None:
    found = plan(
        """
        node n1 cpu=6
        queue p age=9 deserved=cpu:6
        queue p1 parent=p deserved=cpu:3
        queue p2 parent=p deserved=cpu:3
        queue q deserved=cpu:6
        queue q1 parent=q deserved=cpu:6
        job ns/a queue=p1 pods=6 cpu=1
        job ns/b queue=p2 pods=6 cpu=1
        job ns/c queue=q1 pods=6 cpu=1
        """,
        policy(),
    )

    assert found.bound["c"] == 3, "as many as both queues of the other branch together"
