"""Queues and namespaces in pictures."""

from __future__ import annotations

from tests.support.plans import policy_from, policy_of
from tests.support.sights import AROUND, frozen, of
from vsched.model.arbitration.records import Award
from vsched.web.overview.assembly import Most, assemble

CAPACITY = policy_of("priority gang", "drf predicates capacity")
IN_TREE = policy_from(
    '{"actions": "allocate", "tiers": [{"plugins": [{"name": "gang"}, {"name": "capacity", "enableHierarchy": true}]}]}'
)
TREE = """
node n1 cpu=10
queue root
queue up parent=root deserved=cpu:6 capability=cpu:8
queue low parent=up deserved=cpu:4 guarantee=cpu:1 priority=7
queue other deserved=cpu:4 state=Closed
job ns/runs min=2 queue=low phase=Running
pods ns/runs 2 cpu=1 on=n1
job ns/waits min=3 pods=3 cpu=4 queue=low
job ns/old min=1 queue=other phase=Running
pods ns/old 1 cpu=1 on=n1
"""


def test_queues_stand_in_a_tree_with_all_that_is_below_them() -> None:
    found = of(TREE, CAPACITY).queues
    assert {name: row.parent for name, row in found.items()} == {"root": "", "up": "root", "low": "up", "other": "root"}
    assert [found[name].allocated[0] for name in ("root", "up", "low", "other")] == [3000, 2000, 2000, 1000]
    assert [found[name].jobs for name in ("root", "up", "low", "other")] == [3, 2, 2, 1]
    assert [found[name].waiting for name in ("root", "up", "low", "other")] == [1, 1, 1, 0]


def test_the_root_has_all_of_the_cluster_and_deserves_no_part_of_it() -> None:
    for policy in (CAPACITY, IN_TREE):
        root = of(TREE, policy).queues["root"]
        assert (set(root.deserved), root.overused, root.allocated[0]) == ({None}, False, 3000)


def test_where_the_policy_knows_no_tree_what_is_deserved_is_told_with_all_that_is_below_as_what_is_held() -> None:
    tree = """
    node n1 cpu=10
    queue root
    queue up parent=root
    queue low parent=up
    job ns/low min=4 queue=low phase=Running
    pods ns/low 4 cpu=1 on=n1
    job ns/up min=1 queue=up phase=Running
    pods ns/up 1 cpu=1 on=n1
    job ns/more min=1 queue=up pods=1 cpu=9
    """
    found = of(tree).queues
    cpu = {name: (row.allocated[0], row.deserved[0]) for name, row in found.items()}
    assert cpu == {"root": (5000, None), "up": (5000, 10_000), "low": (4000, 4000)}
    assert found["up"].share == round(5 / 6, 4)  # of the pods; by itself it holds one of two


def test_a_queue_says_what_it_states_and_none_where_it_states_nothing() -> None:
    low = of(TREE, CAPACITY).queues["low"]
    assert (low.deserved[0], low.deserved[1]) == (4000, None)
    assert (low.guarantee[0], low.guarantee[1]) == (1000, None)
    assert (low.priority, low.state) == (7, "Open")
    assert of(TREE, CAPACITY).queues["other"].state == "Closed"


def test_a_limit_of_none_is_not_the_absence_of_a_limit() -> None:
    found = of("node n1 gpu=4\nqueue q capability=gpu:0", policy_of("gang", "predicates")).queues["q"]
    assert (found.capability[0], found.capability[2]) == (None, 0)


# -- namespaces


def test_namespaces_that_hold_or_wait_have_a_row_in_each_queue() -> None:
    text = """
    node n1 cpu=2
    queue a
    queue b
    weight x 3
    job x/runs min=1 pods=1 cpu=2 queue=a
    job x/waits min=1 pods=1 cpu=2 queue=b age=-5
    job y/waits min=1 pods=1 cpu=2 queue=b age=-5
    """
    found = of(text, policy_of("gang", "predicates")).namespaces
    assert set(found) == {"a/x", "b/x", "b/y"}
    assert (found["a/x"].allocated[0], found["a/x"].weight, found["a/x"].share, found["a/x"].waiting) == (
        2000,
        3,
        1.0,
        0,
    )
    assert (found["b/x"].waiting, found["b/y"].waiting, found["b/y"].weight) == (1, 1, 1)
    assert found["b/y"].deserved == (None, None, None)


def test_what_a_namespace_deserves_is_told_where_the_cluster_is_divided_among_them() -> None:
    awards = {"x": Award(deserved={"cpu": 1500}, ceiling={})}
    found = of("node n1\njob x/a min=1 pods=1 cpu=1", awards=awards, weights={"x": 4}).namespaces["default/x"]
    assert (found.deserved, found.weight) == ((1500, None, None), 4)


def test_of_many_queues_those_with_others_below_them_come_first_then_those_with_jobs() -> None:
    found = assemble(frozen(TREE, CAPACITY), AROUND, most=Most(queues=3))
    assert found.queues.keys() == {"root", "up", "low"}
    assert found.counts["queues_left_out"] == 1
    assert found.queues["root"].allocated[0] == 3000  # also of those without a row


def test_of_many_namespaces_those_that_wait_come_first_then_those_that_hold_most() -> None:
    text = """
    node n1 cpu=10
    queue q
    job a/small min=1 queue=q phase=Running
    pods a/small 1 cpu=1 on=n1
    job b/large min=1 queue=q phase=Running
    pods b/large 1 cpu=4 on=n1
    job c/waits min=1 pods=1 cpu=90 queue=q
    """
    found = assemble(frozen(text, CAPACITY), AROUND, most=Most(namespaces=2))
    assert found.namespaces.keys() == {"q/c", "q/b"}
    assert found.counts["namespaces_left_out"] == 1
