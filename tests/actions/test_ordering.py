"""The order of queues by score, and of jobs across queues."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.plans import plan, policy_of
from tests.support.small import SmallCluster
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import NoArgs, Plugin, QueueOrder, QueueScore
from vsched.framework.policy import PluginConf, PluginTier, Policy, Switches
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.queues.queue import Queue


def scoring(plugin: str, **scores: float) -> type[Plugin[Any]]:
    """A plugin of that name that gives these scores to these queues."""

    class Scoring(Plugin[NoArgs], QueueScore):
        name = plugin

        def queue_score(self, queue: Queue) -> float:
            return scores[queue.name]

    return Scoring


class ByName(Plugin[NoArgs], QueueOrder):
    name = "by-name"

    def queue_key(self, queue: Queue) -> int:
        return -ord(queue.name)


PLUGINS = (
    scoring("priority", A=0.4, B=0.8, C=0.0),
    scoring("drf", A=1 - 0.3, B=1 - 0.4, C=1 - 0.5),
    scoring("proportion", A=1 - 1.2, B=1 - 0.5, C=1 - 0.3),
    ByName,
)
QUEUES = {name: Queue(name) for name in "ABC"}
"""The queues of the seed's table, with its shares."""


def ordering(off: str = "", **args: Any) -> QueueOrdering:
    confs = [PluginConf(one.name, NoArgs(), Switches(queue_score_order=one.name != off)) for one in PLUGINS]
    plugins = PluginSet(Policy((), (PluginTier(tuple(confs)),)), Registry.of(PLUGINS, ()), Trace())
    return QueueOrdering(plugins, OrderingArgs(**args))


def order(found: QueueOrdering, queues: dict[str, Queue] = QUEUES) -> str:
    return "".join(queue.name for queue in sorted(queues.values(), key=found.queue_key))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param({"priority": 1, "drf": 1, "proportion": 1}, "BCA", id="the seed's table"),
        pytest.param({"priority": 1}, "BAC", id="priority alone"),
        pytest.param({"drf": 1}, "ABC", id="drf alone"),
        pytest.param({"proportion": 1}, "CBA", id="proportion alone"),
        pytest.param({"drf": 5, "proportion": 1}, "BAC", id="one five times the other"),
        pytest.param({"proportion": 1, "drf": 0}, "CBA", id="a weight of nothing"),
        pytest.param({}, "ABC", id="no plugin is named: the first by name"),
        pytest.param({"capacity": 1, "by-name": 1}, "ABC", id="no plugin that is named gives scores"),
    ],
)
def test_the_order_by_score(weights: dict[str, float], expected: str) -> None:
    assert order(ordering(by_score=True, weights=weights)) == expected


def test_a_plugin_whose_switch_is_off_has_no_say() -> None:
    weights = {"priority": 1.0, "drf": 1.0, "proportion": 1.0}

    assert order(ordering("proportion", by_score=True, weights=weights)) == "BAC"


def test_without_the_switch_plugins_compare() -> None:
    assert order(ordering(weights={"drf": 1})) == "CBA"


def test_equal_scores_go_by_age_then_uid_then_name() -> None:
    queues = {
        "A": Queue("A", created=2.0, uid="1"),
        "B": Queue("B", created=1.0, uid="3"),
        "C": Queue("C", created=1.0, uid="2"),
    }

    assert order(ordering(by_score=True), queues) == "CBA"


def seeds_jobs() -> list[JobView]:
    """A1 and A2 in queue A, B1 and B2 in queue B, each with the priority of the seed's example."""
    cluster = SmallCluster()
    for name, priority in (("A1", 10), ("A2", 12), ("B1", 8), ("B2", 13)):
        cluster.job(name, 1, queue=name[0]).priority = priority
    return [JobView(job) for job in cluster.jobs.values()]


@pytest.mark.parametrize(
    ("across", "expected"),
    [
        pytest.param(True, ["B2", "A2", "A1", "B1"], id="across queues"),
        pytest.param(False, ["B1", "B2", "A1", "A2"], id="queue by queue"),
    ],
)
def test_jobs_in_order(across: bool, expected: list[str]) -> None:
    found = ordering(across_queues=across).drained(seeds_jobs(), QUEUES)

    assert [job.spec.name for job in found] == expected


def test_jobs_of_one_priority_go_by_queue_even_across_queues() -> None:
    jobs = seeds_jobs()
    for job in jobs:
        job.priority = 7

    assert [job.spec.name for job in ordering(across_queues=True).drained(jobs, QUEUES)] == ["B1", "B2", "A1", "A2"]


# -- through whole cycles -------------------------------------------------------------------------------------------

TIERS = ("priority gang", "drf predicates proportion nodeorder")
SCORES = {f"QueueScoreOrder.{plugin}.weight": 1 for plugin in ("priority", "drf", "proportion")}
SEED = """
    node n1 cpu=100 memory=100Gi
    class eight 8
    class ten 10
    class twelve 12
    class thirteen 13
    queue A class=ten
    queue B class=eight
    job ns/A1 queue=A pods=1 cpu=1 age=4
    job ns/A2 queue=A pods=1 cpu=1 class=twelve age=3
    job ns/B1 queue=B pods=1 cpu=1 age=2
    job ns/B2 queue=B pods=1 cpu=1 class=thirteen age=1
"""


@pytest.mark.parametrize("request_of", ["cpu=1", ""], ids=["by allocate", "by backfill"])
@pytest.mark.parametrize(
    ("across", "expected"),
    [
        pytest.param(True, ["B2.0", "A2.0", "A1.0", "B1.0"], id="across queues"),
        pytest.param(False, ["A2.0", "A1.0", "B2.0", "B1.0"], id="queue by queue"),
    ],
)
def test_the_seeds_jobs_are_placed(across: bool, expected: list[str], request_of: str) -> None:
    policy = policy_of(*TIERS, ordering={"JobOrderAcrossQueues": across})

    assert plan(SEED.replace("cpu=1 ", f"{request_of} "), policy).order == expected


def test_a_queue_that_has_had_its_share_is_left_out_in_every_wave() -> None:
    text = """
        node n1 cpu=4 memory=100Gi
        class high 10
        queue A
        queue B capability=cpu:1
        job ns/b-high queue=B pods=2 cpu=1 class=high age=2
        job ns/b-low queue=B pods=1 cpu=1 age=1
        job ns/a-low queue=A pods=2 cpu=1
    """
    found = plan(text, policy_of(*TIERS, ordering={"JobOrderAcrossQueues": True}))

    assert found.bound == {"b-high": 1, "a-low": 2}
    assert "queue B" in found.message("ns/b-low")


@pytest.mark.parametrize(
    ("arguments", "admitted"),
    [
        pytest.param({}, "b", id="by priority before anything else"),
        pytest.param({"QueueScoreOrderEnable": True, **SCORES}, "a", id="by score, shares count as well"),
        pytest.param(
            {"QueueScoreOrderEnable": True, **SCORES, "QueueScoreOrder.priority.weight": 3},
            "b",
            id="by score, priority three times as much",
        ),
        pytest.param(
            {"JobOrderAcrossQueues": True}, "b", id="across queues by the priority of jobs, here their queues'"
        ),
    ],
)
def test_who_is_admitted_first(arguments: dict[str, object], admitted: str) -> None:
    text = """
        node n1 cpu=10 memory=100Gi
        class low 0
        class high 100
        queue A
        queue B class=high
        job ns/old queue=B min=1 phase=Running
        pods ns/old 2 cpu=1 on=n1
        job ns/a queue=A minResources=cpu:6 age=9
        job ns/b queue=B minResources=cpu:6
    """
    policy = policy_of("priority gang", "overcommit drf predicates proportion nodeorder", ordering=arguments)
    phases = plan(text, policy).phases()

    assert [name for name in "ab" if phases[name] == "Inqueue"] == [admitted]
