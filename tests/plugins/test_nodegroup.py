"""nodegroup: which groups of nodes a queue may use, which it prefers, and how much of each."""

from __future__ import annotations

import pytest

from tests.support.plans import plan, policy_of
from tests.support.worlds import World
from vsched.framework.words.nodes import available
from vsched.plugins.nodegroup import NodeGroup, NodeGroupArgs
from vsched.plugins.words.nodes import GROUP_AT_LIMIT, LIMITS_UNREADABLE, OTHER_GROUP

GROUP, LIMITS = "volcano.sh/nodegroup-name", "volcano.sh/nodegroup-resource-limits"
NODES = f"""
node n1 {GROUP}=g1
node n2 {GROUP}=g2
node n3 {GROUP}=g3
node n4
"""
LOOSE, ORDERED = NodeGroupArgs(strict=False), NodeGroupArgs(preferred_order=True)


def opened(text: str, args: NodeGroupArgs | None = None, *, hierarchy: bool = False) -> tuple[World, NodeGroup]:
    world = World(f"{NODES}\n{text}\njob ns/new queue=q pods=1 cpu=1")
    return world, world.opened(NodeGroup(args or NodeGroupArgs()), hierarchy=hierarchy)


def allowed(world: World, plugin: NodeGroup, queue: str = "q") -> str:
    shape = world.task("new.0").shape
    groups, limits = (
        plugin.queue_checks(queue, shape, world.nodes),
        plugin.queue_limit_checks(queue, shape, world.nodes),
    )
    assert not any(check.resolvable for check in groups), "evicting pods changes no group"
    assert all(check.resolvable for check in limits), "evicting pods of the queue makes room within its limit"
    return " ".join(
        name
        for row, name in enumerate(world.nodes.statics.names)
        if all(check.passes[row] for check in (*groups, *limits))
    )


@pytest.mark.parametrize(
    ("queue", "args", "nodes"),
    [
        pytest.param("required=g1,g2", None, "n1 n2", id="groups that are required"),
        pytest.param("preferred=g3", None, "n3", id="groups that are preferred"),
        pytest.param("required=g1 preferred=g3", LOOSE, "n1 n3", id="both together, and no nodes without a group"),
        pytest.param("required=g1,g2 antiRequired=g2", None, "n1", id="a group to keep off"),
        pytest.param("required=g1 antiPreferred=g2", None, "n1 n2", id="a group to avoid is allowed"),
        pytest.param("required=g1 antiRequired=g1 antiPreferred=g1", None, "n1", id="avoiding outweighs keeping off"),
        pytest.param("antiRequired=g1", None, "", id="who only says what to keep off gets nothing"),
        pytest.param("", None, "", id="without an affinity nothing where groups are strict"),
        pytest.param("", LOOSE, "n4", id="else the nodes without a group"),
    ],
)
def test_the_nodes_of_a_queue(queue: str, args: NodeGroupArgs | None, nodes: str) -> None:
    world, plugin = opened(f"queue q {queue}", args)

    assert allowed(world, plugin) == nodes
    checks = plugin.queue_checks("q", world.task("new.0").shape, world.nodes)
    assert [check.reason for check in checks] == [OTHER_GROUP]


TREE = "queue root\nqueue top preferred=g2\nqueue mid parent=top\nqueue q parent=mid"


@pytest.mark.parametrize(
    ("queues", "hierarchy", "nodes"),
    [
        pytest.param(TREE, True, "n2", id="the nearest ancestor's affinity"),
        pytest.param(TREE, False, "", id="not without a hierarchy"),
        pytest.param(f"{TREE} required=g1", True, "n1", id="its own comes first"),
        pytest.param("queue root required=g3\nqueue q", True, "n3", id="the root is above all"),
        pytest.param("queue a parent=q\nqueue q parent=a", True, "", id="a circle of parents ends"),
        pytest.param("queue q parent=gone", True, "", id="a parent that does not exist"),
    ],
)
def test_affinity_in_a_tree_of_queues(queues: str, hierarchy: bool, nodes: str) -> None:
    world, plugin = opened(queues, hierarchy=hierarchy)

    assert allowed(world, plugin) == nodes


@pytest.mark.parametrize(
    ("queue", "args", "scores"),
    [
        pytest.param("required=g1", None, [100, 0, 0, 0], id="a group that is required"),
        pytest.param("required=g1 preferred=g1,g2", None, [150, 50, 0, 0], id="both add up"),
        pytest.param("preferred=g2,g1", ORDERED, [25, 50, 0, 0], id="the first that is preferred is worth more"),
        pytest.param("required=g1 preferred=g1 antiPreferred=g1,g3", None, [-1, 0, -1, 0], id="a group to avoid"),
        pytest.param("", None, None, id="without an affinity there is nothing to say"),
    ],
)
def test_scores(queue: str, args: NodeGroupArgs | None, scores: list[float] | None) -> None:
    world, plugin = opened(f"queue q {queue}", args)
    found = plugin.queue_score("q", world.task("new.0").shape, world.nodes)

    assert (None if found is None else found.tolist()) == scores


HELD = """
job ns/a queue=q
pods ns/a 1 cpu=2 on=n1
pods ns/a 1 cpu=2 on=n2
pods ns/a 1 cpu=2 on=n1 leaving
pods ns/a 1 cpu=2 on=n1 succeeded
job ns/b queue=other
pods ns/b 1 cpu=2 on=n1
"""


@pytest.mark.parametrize(
    ("limits", "nodes"),
    [
        pytest.param('{"g1":{"cpu":3}}', "n1 n2", id="up to the limit"),
        pytest.param('{"g1":{"cpu":"2999m"}}', "n2", id="not beyond it"),
        pytest.param('{"g1":{"cpu":9},"g2":{"cpu":2}}', "n1", id="each group has its own"),
        pytest.param('{"g1":{"memory":"1Gi"}}', "n1 n2", id="only what a limit names is compared"),
        pytest.param('{"g1":{"example.com/gpu":0}}', "n1 n2", id="nothing of what there is to be nothing of"),
        pytest.param('{"g1":{"cpu":0}}', "n2", id="a limit of zero forbids"),
        pytest.param("{}", "n1 n2", id="no groups, no limits"),
    ],
)
def test_limits_count_what_the_queue_holds_on_a_group(limits: str, nodes: str) -> None:
    world, plugin = opened(f"queue q required=g1,g2 {LIMITS}={limits}\nqueue other required=g1\n{HELD}")

    assert allowed(world, plugin) == nodes


def test_limits_follow_the_cycle() -> None:
    limits = '{"g1":{"cpu":4}}'
    world, plugin = opened(f"queue q required=g1,g2 {LIMITS}={limits}\nqueue other required=g1\n{HELD}")
    job, new, running = world.jobs["ns/new"], world.task("new.0"), world.task("a.0")
    row = world.row("n1")

    plugin.on_allocate(job, new, row)
    assert allowed(world, plugin) == "n1 n2", "one more than the first still fits"
    plugin.on_allocate(job, new, row)
    assert allowed(world, plugin) == "n2"
    assert [c.reason for c in plugin.queue_limit_checks("q", new.shape, world.nodes)] == [GROUP_AT_LIMIT]
    plugin.on_allocate(world.jobs["ns/b"], world.task("b.0"), row)
    plugin.on_release(world.jobs["ns/a"], running, row)
    assert allowed(world, plugin) == "n1 n2", "an eviction makes room, another queue's placement takes none"


def test_sums_are_kept_for_jobs_that_stay_as_they_are() -> None:
    limits = '{"g1":{"cpu":3}}'
    world, plugin = opened(f"queue q required=g1,g2 {LIMITS}={limits}\nqueue other\n{HELD}")

    assert allowed(world, plugin) == allowed(world, world.opened(NodeGroup(NodeGroupArgs()))) == "n1 n2"
    kept = world.nodes.statics.remember(("nodegroup held", "q"), dict)
    assert list(kept) == ["ns/a"]


def test_limits_that_cannot_be_read_give_the_queue_no_node() -> None:
    world, plugin = opened(f"queue q required=g1 {LIMITS}=many")

    assert allowed(world, plugin) == ""
    assert [c.reason for c in plugin.queue_checks("q", world.task("new.0").shape, world.nodes)] == [LIMITS_UNREADABLE]


def test_queues_that_ask_for_the_same_share_what_is_worked_out() -> None:
    queues = f'queue q required=g1\nqueue r required=g1\nqueue s\nqueue t required=g1 {LIMITS}={{"g1":{{"cpu":1}}}}'
    _, plugin = opened(queues)

    classes = {queue: plugin.queue_class(queue) for queue in "qrst"}
    assert classes["q"] == classes["r"]
    assert len({classes[queue] for queue in "qst"}) == 3


def test_a_whole_cycle_places_queues_on_their_groups_within_their_limits() -> None:
    limits = f'{LIMITS}={{"g1":{{"cpu":2}}}}'
    decided = plan(
        f"""
{NODES}
queue near required=g1 antiPreferred=g2 {limits}
queue far preferred=g3 antiRequired=g2
queue none
job ns/a queue=near pods=5 cpu=1
job ns/b queue=far pods=2 cpu=1
job ns/c queue=none pods=1 cpu=1
""",
        policy_of("nodegroup predicates"),
    )

    near = [decided.nodes[f"a.{number}"] for number in range(5)]
    assert near == ["n1", "n1", "n2", "n2", "n2"], "the better group until its limit, then the one to avoid"
    assert {decided.nodes[f"b.{number}"] for number in range(2)} == {"n3"}
    assert "c.0" not in decided.nodes
    assert decided.why("ns/c.0") == available(4, {OTHER_GROUP: 4})


def test_what_another_cycle_placed_counts_against_the_limit() -> None:
    limits = f'{LIMITS}={{"g1":{{"cpu":1}}}}'
    text = f"{NODES}\nqueue q required=g1 {limits}\njob ns/a queue=q pods=1 cpu=1\njob ns/b queue=q age=1 pods=1 cpu=1"
    decided = plan(text, policy_of("nodegroup predicates"), cycles=2)

    assert decided.nodes == {"b.0": "n1"}
    assert decided.why("ns/a.0") == available(4, {GROUP_AT_LIMIT: 1, OTHER_GROUP: 3})


def test_an_urgent_job_takes_the_place_of_another_of_its_queue_within_the_limit() -> None:
    limits = f'{LIMITS}={{"g1":{{"cpu":1}}}}'
    text = f"""
{NODES}
class high 100
queue q required=g1 {limits}
job ns/low queue=q pods=1 cpu=1 phase=Running on=n1
job ns/urgent queue=q class=high pods=1 cpu=1
"""
    decided = plan(text, policy_of("priority nodegroup predicates", actions="enqueue, allocate, preempt"))

    assert decided.evicted == [["low.0"]]
