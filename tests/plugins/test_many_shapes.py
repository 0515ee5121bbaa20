"""Many pods that all differ get the nodes that scoring every node by itself would give them."""

from __future__ import annotations

from typing import Any

import pytest

from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.lab.bench.world import MirrorFeeder, World
from vsched.model.pods.task import Task
from vsched.settings import default_settings, load_text
from vsched.settings.built_in import REGISTRY

WEIGHTED = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
- plugins:
  - name: predicates
  - name: nodeorder
    arguments: {leastrequested.weight: 3, balancedresource.weight: 7}
  - name: binpack
    arguments: {binpack.weight: 5, binpack.cpu: 3, binpack.memory: 2}
"""


class SmallNodes(MirrorFeeder):
    """Nodes that fill soon, alike or of several sizes."""

    sizes = 1

    def _node(self, number: int) -> dict[str, Any]:
        node = super()._node(number)
        node["status"]["allocatable"] |= {"cpu": str(4 + number % self.sizes), "memory": f"{9 + number % self.sizes}Gi"}
        return node


class NodesOfSizes(SmallNodes):
    sizes = 5


def plain_best(session: Session, task: Task) -> int | None:
    """The first of the best rows, each scored in plain numbers."""
    nodes, best, most = session.nodes, None, 0.0
    for row in range(len(nodes)):
        if all(nodes.idle[column, row] >= amount for column, amount in task.shape.request):
            total = sum(one.score_row(task.shape, nodes, row) for one in session.plugins.node_plugins.scorers)
            if best is None or total > most:
                best, most = row, total
    return best


@pytest.mark.parametrize("feeder", [SmallNodes, NodesOfSizes], ids=["nodes are alike", "nodes of five sizes"])
@pytest.mark.parametrize("text", ["", WEIGHTED], ids=["default policy", "other weights"])
@pytest.mark.parametrize(
    ("nodes", "pods"), [(24, 110), (56, 400)], ids=["all nodes are looked at", "few nodes stand for all"]
)
def test_each_of_many_different_pods_gets_the_best_node(
    feeder: type[MirrorFeeder], text: str, nodes: int, pods: int
) -> None:
    settings = load_text(text, "weighted", REGISTRY) if text else default_settings(REGISTRY)
    crowd = feeder(World(nodes=nodes, pods=pods, gang=1, shapes=pods, queues=1, namespaces=1))
    crowd.fill()
    session = Session(crowd.mirror.snapshot(0.0), settings.policy, REGISTRY, Trace())
    waiting = [(job, task) for job in session.jobs.values() for task in job.job.pending.values()]
    placed = []
    for number, (job, task) in enumerate(waiting):
        expected, choice = plain_best(session, task), session.node_selection.choose(task)
        assert (None if choice is None else choice.row) == expected
        if choice is not None:
            with session.statement() as statement:
                statement.allocate(job, task, choice.row)
                if number % 7:
                    statement.commit()
                    placed.append(choice.row)
    assert len(set(placed)) == nodes
    assert len(placed) < len(waiting) - pods // 7
