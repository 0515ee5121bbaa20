"""Which sub-group of its job a task is in, and whether tasks are enough for the sub-groups that the job needs."""

from __future__ import annotations

import pytest

from vsched.model.pods.shape import PodLabels, Requirement, Selector, ShapeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import MemberGroup, SubGroupPolicy
from vsched.model.topology.subgroups import LEFT_OVER, Membership, SubGroupKey, have_minima

SHAPE = ShapeTable().shape(((2, 1),))
SPEC, PARTITION = "volcano.sh/task-spec", "volcano.sh/partition-id"
BY_SPEC = SubGroupPolicy("spec", match_keys=(SPEC,))
BY_BOTH = SubGroupPolicy("both", match_keys=(SPEC, PARTITION))
WORKERS = Selector((Requirement(SPEC, "In", ("worker",)),))


def task(name: str = "a", group: str = "", **labels: str) -> Task:
    pairs = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
    found = PodLabels("ns", tuple(sorted(pairs.items())))
    return Task(name, "ns", name, "ns/j", SHAPE, found, Status.PENDING, group=group)


WORKER = {"volcano.sh__task_spec": "worker"}


@pytest.mark.parametrize(
    ("policies", "of", "key"),
    [
        pytest.param((BY_SPEC,), task(**WORKER), SubGroupKey(0, ("worker",)), id="the value of the key"),
        pytest.param((BY_SPEC,), task(app="x"), LEFT_OVER, id="without the key, no policy concerns it"),
        pytest.param(
            (BY_BOTH,),
            task(**WORKER, volcano_sh__partition_id="1"),
            LEFT_OVER,
            id="a label of another name is not the key",
        ),
        pytest.param((BY_BOTH,), task(**WORKER), LEFT_OVER, id="all keys are needed"),
        pytest.param(
            (BY_BOTH,),
            task(**WORKER, **{"volcano.sh__partition_id": "1"}),
            SubGroupKey(0, ("worker", "1")),
            id="the values in the order of the keys",
        ),
        pytest.param((BY_BOTH, BY_SPEC), task(**WORKER), SubGroupKey(1, ("worker",)), id="the first that concerns it"),
        pytest.param(
            (SubGroupPolicy("w", selector=WORKERS),),
            task(**WORKER),
            SubGroupKey(0),
            id="a selector without keys makes one sub-group",
        ),
        pytest.param(
            (SubGroupPolicy("w", selector=WORKERS, match_keys=("rack",)),),
            task(rack="r1"),
            LEFT_OVER,
            id="the selector must match as well",
        ),
        pytest.param((SubGroupPolicy("all"),), task(), SubGroupKey(0), id="neither selector nor keys: all pods"),
        pytest.param(
            (
                SubGroupPolicy("g", groups=(MemberGroup("g1"),)),
                SubGroupPolicy("h", groups=(MemberGroup("g2"), MemberGroup("g3"))),
            ),
            task(group="g3"),
            SubGroupKey(1, ("g3",)),
            id="the native PodGroup that the pod names",
        ),
        pytest.param(
            (SubGroupPolicy("g", groups=(MemberGroup("g1"),), match_keys=(SPEC,)),),
            task(**WORKER),
            LEFT_OVER,
            id="keys do not count where a native PodGroup is named",
        ),
    ],
)
def test_the_sub_group_of_a_task(policies: tuple[SubGroupPolicy, ...], of: Task, key: SubGroupKey) -> None:
    assert Membership(policies).of(of) == key


@pytest.mark.parametrize(
    ("key", "name", "number"),
    [
        pytest.param(SubGroupKey(0, ("7", "b")), "spec/7/b", 7, id="policy and values"),
        pytest.param(SubGroupKey(0, ("x",)), "spec/x", 0, id="a value that is no number"),
        pytest.param(SubGroupKey(1, ("g1",)), "groups/g1", 0, id="the native PodGroup of a policy for such groups"),
        pytest.param(SubGroupKey(2), "subGroupPolicy[2]", 0, id="a policy without a name"),
        pytest.param(LEFT_OVER, "the other pods", 0, id="pods of no policy"),
    ],
)
def test_names_for_messages_and_the_number_that_orders(key: SubGroupKey, name: str, number: int) -> None:
    assert key.name((BY_SPEC, SubGroupPolicy("groups", groups=(MemberGroup("g1"),)), SubGroupPolicy())) == name
    assert key.number == number


@pytest.mark.parametrize(
    ("policy", "values", "enough"),
    [
        pytest.param(SubGroupPolicy("p", 2, 1, match_keys=("k",)), "aab", True, id="one sub-group of two is there"),
        pytest.param(SubGroupPolicy("p", 2, 2, match_keys=("k",)), "aab", False, id="the second lacks a pod"),
        pytest.param(SubGroupPolicy("p", 2, 2, match_keys=("k",)), "aabb", True, id="both are there"),
        pytest.param(SubGroupPolicy("p", 2, 0, match_keys=("k",)), "", True, id="none is needed"),
        pytest.param(SubGroupPolicy("p", 0, 1, match_keys=("k",)), "", False, id="one of no size has to exist"),
    ],
)
def test_whether_tasks_are_enough(policy: SubGroupPolicy, values: str, enough: bool) -> None:
    tasks = [task(f"t{number}", k=value) for number, value in enumerate(values)]

    assert have_minima((policy,), [*tasks, task("other")]) is enough
