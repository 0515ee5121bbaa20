"""task-topology: pods of roles that belong together share nodes, and pods of others are kept apart."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.explained import explained
from tests.support.plans import plan, policy_of
from tests.support.worlds import World
from vsched.framework.jobs import JobView
from vsched.model.jobs.task_topology import TaskTopology
from vsched.model.pods.task import Task
from vsched.plugins.pods.buckets import JobBuckets, TaskBucket
from vsched.plugins.tasktopology import TaskTopologyArgs, TaskTopologyPlugin
from vsched.plugins.words.jobs import unknown_role

POLICY = policy_of("priority gang task-topology", "predicates nodeorder proportion")
AFFINITY, ANTI = "volcano.sh/task-topology-affinity", "volcano.sh/task-topology-anti-affinity"
ORDER = "volcano.sh/task-topology-task-order"


def by_node(text: str) -> dict[str, str]:
    """The pods on each node, as ``a0 b1``: role and number."""
    found = plan(text, POLICY).nodes
    nodes: dict[str, list[str]] = {}
    for pod, node in found.items():
        nodes.setdefault(node, []).append(pod.partition(".")[2])
    return {node: " ".join(sorted(pods, key=int)) for node, pods in sorted(nodes.items())}


def job(roles: str, *annotations: str, cpu: int = 1) -> str:
    """A job with a pod for each letter: its role."""
    first = f"job ns/j min={len(roles)} {' '.join(annotations)}"
    return "\n".join([first, *(f"pods ns/j 1 cpu={cpu} role={role}" for role in roles)])


NODES = "\n".join(f"node n{number} cpu=4" for number in range(1, 5))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            job("ppww"), {"n1": "0", "n2": "1", "n3": "2", "n4": "3"}, id="without wishes, pods go to the emptiest node"
        ),
        pytest.param(
            job("ppww", f"{AFFINITY}=p,w"), {"n1": "0 1 2 3"}, id="roles with affinity to each other share a node"
        ),
        pytest.param(job("wwww", f"{AFFINITY}=w"), {"n1": "0 1 2 3"}, id="a role alone has affinity to itself"),
        pytest.param(
            job("wwpp", f"{AFFINITY}=w,p", f"{ANTI}=p"),
            {"n1": "0 2", "n2": "1 3"},
            id="a role with anti-affinity to itself spreads, and the others join its pods in turn",
        ),
        pytest.param(
            job("pppwww", f"{AFFINITY}=p,w", f"{ANTI}=p;w"),
            {"n1": "0 3", "n2": "1 4", "n3": "2 5"},
            id="one of each role a node, where both have anti-affinity to themselves",
        ),
        pytest.param(
            job("aabb", f"{AFFINITY}=a;b", f"{ANTI}=a,b"),
            {"n1": "0 1", "n2": "2 3"},
            id="roles with anti-affinity to each other are apart",
        ),
        pytest.param(
            "node n5 cpu=6\n" + job("wwwwww", f"{AFFINITY}=w", cpu=1),
            {"n5": "0 1 2 3 4 5"},
            id="pods go to the node that has room for all of their bucket",
        ),
        pytest.param(
            job("wwww", f"{AFFINITY}=w,w"),
            {"n1": "0", "n2": "1", "n3": "2", "n4": "3"},
            id="a role twice in one group turns it off",
        ),
        pytest.param(
            job("wwww", f"{AFFINITY}=w,other"),
            {"n1": "0", "n2": "1", "n3": "2", "n4": "3"},
            id="a role that the job does not have turns it off",
        ),
        pytest.param(
            job("wwww", f"{AFFINITY}=w,other", "roles=w:4,other:0"),
            {"n1": "0 1 2 3"},
            id="a role that the PodGroup names and that has no pods yet does not",
        ),
        pytest.param(
            "job ns/j min=1\npods ns/j 1 cpu=1 role=w on=n3\npods ns/j 2 cpu=1 role=w".replace(
                "min=1", f"min=1 {AFFINITY}=w"
            ),
            {"n3": "1 2"},
            id="pods go to where the others of their bucket are already",
        ),
    ],
)
def test_where_roles_go(text: str, expected: dict[str, str]) -> None:
    assert by_node(f"{NODES}\n{text}") == expected


@pytest.mark.parametrize(
    ("roles", "annotations", "order"),
    [
        pytest.param("xaabbb", [f"{AFFINITY}=a;b", f"{ANTI}=a,b"], "345120", id="the largest bucket first"),
        pytest.param("aabb", [f"{AFFINITY}=a,b"], "0123", id="in a bucket by name where roles are equal"),
        pytest.param("aabb", [f"{AFFINITY}=a,b", f"{ORDER}=b,a"], "2301", id="in a bucket by the user's order first"),
        pytest.param("aabb", [f"{AFFINITY}=a,b;b", f"{ANTI}=b"], "2301", id="then anti-affinity to itself"),
        pytest.param("xxaa", [f"{AFFINITY}=a"], "2301", id="pods without a bucket go last"),
    ],
)
def test_the_order_of_tasks(roles: str, annotations: list[str], order: str) -> None:
    found = plan(f"node n1 cpu=64\n{job(roles, *annotations)}", POLICY).order

    assert "".join(pod.partition(".")[2] for pod in found) == order


def test_only_tasks_in_buckets_have_scores_of_their_own() -> None:
    world = World(f"{NODES}\n{job('xaa', f'{AFFINITY}=a')}")
    plugin = world.opened(TaskTopologyPlugin(TaskTopologyArgs()))

    assert not plugin.scores_task(world.task("j.0")), "no wish concerns it"
    assert plugin.scores_task(world.task("j.1"))


def test_weight_zero_gives_no_scores_and_keeps_the_order() -> None:
    world = World(f"{NODES}\n{job('xaa', f'{AFFINITY}=a')}")
    plugin = world.opened(TaskTopologyPlugin(TaskTopologyArgs(weight=0)))

    assert not plugin.scores_task(world.task("j.1"))
    first, last = plugin.task_key(world.task("j.1")), plugin.task_key(world.task("j.0"))
    assert isinstance(first, tuple)
    assert isinstance(last, tuple)
    assert first < last


def scores_of(world: World, plugin: TaskTopologyPlugin, name: str) -> list[float]:
    found = plugin.task_score(world.task(name), world.nodes, np.ones(len(world.nodes), dtype=np.bool_))
    assert found is not None
    return [round(score, 2) for score in found.tolist()]


def test_scores_are_hundredths_of_the_largest_bucket() -> None:
    """Four pods in the bucket: n1 has room for two of them, n2 holds one already, n3 has room for none."""
    nodes = "node n1 cpu=2\nnode n2 cpu=8\nnode n3 cpu=1"
    text = f"{nodes}\njob ns/j min=1 {AFFINITY}=w\npods ns/j 1 cpu=2 role=w on=n2\npods ns/j 3 cpu=2 role=w"
    world = World(text)
    plugin = world.opened(TaskTopologyPlugin(TaskTopologyArgs(weight=2)))

    assert scores_of(world, plugin, "j.1") == [2 * 25.0, 2 * 100.0, 0.0]


def test_pods_that_should_be_elsewhere_count_against_a_node() -> None:
    text = f"node n1\nnode n2\njob ns/j min=1 {ANTI}=w,p\npods ns/j 2 cpu=1 role=p on=n1\npods ns/j 1 cpu=1 role=w"
    world = World(text)
    plugin = world.opened(TaskTopologyPlugin(TaskTopologyArgs()))

    assert scores_of(world, plugin, "j.2") == [-50.0, 50.0]


def test_explain_says_which_role_is_unknown() -> None:
    world = World(f"{NODES}\n{job('ww', f'{AFFINITY}=w,zebra')}")
    plugin = TaskTopologyPlugin(TaskTopologyArgs())

    assert list(plugin.job_notes(world.snapshot.jobs["ns/j"])) == [unknown_role("zebra")]
    assert not list(plugin.job_notes(World(f"{NODES}\n{job('ww', f'{AFFINITY}=w')}").snapshot.jobs["ns/j"]))
    assert explained(f"{NODES}\n{job('ww', f'{AFFINITY}=w,zebra')}", "ns/j", POLICY).notes == (unknown_role("zebra"),)


# -- properties -----------------------------------------------------------------------------------------------------

ROLES = st.sampled_from("abc")
GROUPS = st.lists(st.lists(ROLES, min_size=1, max_size=3, unique=True).map(tuple), max_size=3).map(tuple)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[TaskTopology, World]:
    wished = TaskTopology(draw(GROUPS), draw(GROUPS), tuple(draw(st.lists(ROLES, max_size=3, unique=True))))
    lines = ["node n1 cpu=6", "node n2 cpu=3 memory=4Gi", "node n3 cpu=12", "job ns/j min=1"]
    for _ in range(draw(st.integers(1, 8))):
        on = draw(st.sampled_from(["", "", " on=n1", " on=n2"]))
        lines.append(
            f"pods ns/j 1 cpu={draw(st.integers(1, 3))} memory={draw(st.integers(1, 2))}Gi role={draw(ROLES)}{on}"
        )
    return wished, World("\n".join(lines))


def formed(wished: TaskTopology, world: World) -> JobBuckets:
    return JobBuckets(wished, world.snapshot.jobs["ns/j"].tasks.values(), world.nodes.statics.row)


def state(buckets: JobBuckets, world: World) -> object:
    tasks = sorted(world.snapshot.jobs["ns/j"].tasks.values(), key=lambda task: task.name)
    scores = [None if (one := buckets.scores(task, world.nodes)) is None else one.tolist() for task in tasks]
    return scores, [buckets.key(task) for task in tasks]


def plainly(wished: TaskTopology, tasks: list[Task]) -> list[int | None]:
    """The bucket of each task, found by looking at every bucket, as the rules are written."""
    kinds: Counter[str] = Counter()
    for groups, alone, others in ((wished.affinity, 2, 3), (wished.anti_affinity, 4, 1)):
        for group in groups:
            for role in group:
                kinds[role] = max(kinds[role], alone if len(group) == 1 else others)

    def related(groups: tuple[tuple[str, ...], ...], one: str, other: str) -> bool:
        return any(group == (one,) if one == other else {one, other} <= set(group) for group in groups)

    def rank(task: Task) -> tuple[object, ...]:
        if task.node:
            return 0, task.node, task.name
        place = wished.order.index(task.role) if task.role in wished.order else len(wished.order)
        return 1, place, -kinds[task.role], task.name

    def affinity(task: Task, bucket: list[Task]) -> int:
        return sum(
            related(wished.affinity, task.role, other.role) - related(wished.anti_affinity, task.role, other.role)
            for other in bucket
        )

    def asked(bucket: list[Task]) -> float:
        requests = (amount for other in bucket if not other.node for amount in other.shape.request)
        return sum(amount / 2**20 if column == 1 else amount for column, amount in requests)

    def choice(task: Task) -> int | None:
        if task.node:
            return next((number for number, bucket in enumerate(buckets) if bucket[0].node == task.node), None)
        liked = [
            (-count, asked(bucket), number)
            for number, bucket in enumerate(buckets)
            if (count := affinity(task, bucket)) >= 0
        ]
        return min(liked)[-1] if liked else None

    buckets: list[list[Task]] = []
    found: dict[str, int] = {}
    for task in sorted((task for task in tasks if task.role in kinds), key=rank):
        chosen = choice(task)
        if chosen is None:
            chosen = len(buckets)
            buckets.append([])
        buckets[chosen].append(task)
        found[task.uid] = chosen
    return [found.get(task.uid) for task in tasks]


@settings(deadline=None)
@given(jobs())
def test_buckets_equal_those_of_a_plain_search(made: tuple[TaskTopology, World]) -> None:
    wished, world = made
    tasks = sorted(world.snapshot.jobs["ns/j"].tasks.values(), key=lambda task: task.name)
    buckets = formed(wished, world)

    found = [None if (one := buckets.bucket_of(task)) is None else one.index for task in tasks]
    assert found == plainly(wished, tasks)


@settings(deadline=None)
@given(jobs(), st.data())
def test_undoing_every_move_gives_the_same_scores_and_order(
    made: tuple[TaskTopology, World], data: st.DataObject
) -> None:
    wished, world = made
    buckets = formed(wished, world)
    before = state(buckets, world)
    tasks = sorted(world.snapshot.jobs["ns/j"].tasks.values(), key=lambda task: task.name)
    moves = [
        (task, world.row(task.node) if task.node else data.draw(st.integers(0, 2)), -1 if task.node else 1)
        for task in data.draw(st.permutations(tasks))
    ]
    for task, row, by in moves:
        buckets.move(task, row, by)
    for task, row, by in reversed(moves):
        buckets.move(task, row, -by)

    assert state(buckets, world) == before


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=6),
    st.integers(0, 8),
    st.integers(0, 8),
)
def test_as_few_as_possible_of_each_shape_are_left_out(sizes: list[tuple[int, int]], cpu: int, memory: int) -> None:
    """The rest fits if anything does, and one fewer left out would not, shape after shape."""
    lines = [f"pods ns/j 1 cpu={size} memory={other}Gi role=w" for size, other in sizes]
    world = World("\n".join(["node n1 cpu=9", f"job ns/j min=1 {AFFINITY}=w", *lines]))
    tasks = world.tasks(" ".join(f"j.{number}" for number in range(len(sizes))))
    bucket = TaskBucket(0, ["w"])
    for task in tasks:
        bucket.wait(task, 1)
    free = np.array([[cpu * 1000], [memory << 30], [100]])

    left_out = int(bucket.to_leave_out(tasks[0].shape, free)[0])

    shapes = list(dict.fromkeys(task.shape for task in tasks))
    others = sorted(tasks[1:], key=lambda task: shapes.index(task.shape))

    def fits(number: int) -> bool:
        rest = [tasks[0], *others[number:]]
        return all(
            sum(dict(task.shape.request).get(column, 0) for task in rest) <= free[column, 0] for column in range(3)
        )

    assert left_out == next((number for number in range(len(others)) if fits(number)), len(others))


def test_views_of_jobs_without_wishes_are_not_looked_at_further() -> None:
    world = World(f"{NODES}\n{job('ww')}")
    plugin = world.opened(TaskTopologyPlugin(TaskTopologyArgs()))
    view: JobView = world.jobs["ns/j"]
    plugin.on_allocate(view, world.task("j.0"), 0)

    keys = [plugin.task_key(world.task(name)) for name in ("j.0", "j.1")]
    assert all(one == other for one, other in pairwise(keys))
    assert not plugin.scores_task(world.task("j.0"))
