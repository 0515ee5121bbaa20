"""Crowds of jobs that wait to be admitted: each is admitted, and told, as if it were asked about by itself."""

from __future__ import annotations

import json
from random import Random
from typing import ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.backlogged import ENTERING, KINDS, Backlogged, backlog, change, job
from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.plans import policy_from, policy_of
from tests.support.taking import taking
from vsched.framework.cycle import run_cycle
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobOrder, NoArgs, Plugin
from vsched.framework.policy import PluginConf, PluginTier, Policy
from vsched.framework.registry import Registry
from vsched.model.memo import Memo, Mode
from vsched.model.plan import CycleReport
from vsched.plugins import PLUGINS
from vsched.settings.built_in import REGISTRY


def autoscaled() -> Policy:
    tiers = [["priority", "gang"], ["overcommit", "drf", "predicates", "proportion"]]
    plugins = [{"plugins": [{"name": name} for name in tier]} for tier in tiers]
    return policy_from(
        json.dumps({"actions": "enqueue, allocate, backfill", "tiers": plugins, "autoscaling": {"admit": True}})
    )


BEYOND = "overcommit drf predicates"
POLICIES = {
    "shares": policy_of("priority gang", f"{BEYOND} proportion"),
    "capacity": policy_of("priority gang", f"{BEYOND} capacity resourcequota"),
    "a tree": taking("enqueue, allocate, backfill", "priority gang", "predicates capacity-H resourcequota"),
    "beyond the cluster": policy_of("priority gang", BEYOND),
    "within queues": policy_of("priority gang", "predicates proportion", actions="enqueue, allocate"),
    "across queues": policy_of("priority gang", f"{BEYOND} proportion", ordering={"JobOrderAcrossQueues": True}),
    "by score": policy_of(
        "priority gang",
        f"{BEYOND} proportion",
        ordering={"QueueScoreOrderEnable": True, "QueueScoreOrder.proportion.weight": 1},
    ),
    "users": policy_of("priority gang usage-history", "overcommit predicates proportion"),
    "nodes are added": autoscaled(),
    "last": policy_of("priority gang", f"{BEYOND} proportion", actions="allocate, enqueue"),
    "twice": policy_of("priority gang", f"{BEYOND} proportion", actions="enqueue, allocate, enqueue, allocate"),
    "twice in a row": policy_of("priority gang", f"{BEYOND} proportion", actions="enqueue, enqueue, allocate"),
    "taking first": taking("preempt, enqueue, allocate, reclaim", "priority gang", "overcommit predicates proportion"),
    "gangs take": taking(
        "enqueue, allocate, gangpreempt, gangreclaim", "priority gang", "overcommit proportion predicates"
    ),
    "taking": taking("enqueue, preempt, allocate, reclaim", "priority gang", "overcommit predicates proportion"),
}
POLICY = POLICIES["shares"]


@settings(max_examples=examples(240), deadline=None)
@given(name=st.sampled_from([*POLICIES]), random=seeded, steps=st.integers(1, 8))
def test_jobs_are_admitted_and_told_as_if_each_were_asked_about_by_itself(
    name: str, random: Random, steps: int
) -> None:
    kinds = [*ENTERING, *random.sample([*KINDS], 2)]
    cluster = Backlogged(*backlog(random, kinds))
    assume = random.random() < 0.7
    for _ in range(steps):
        for _ in range(random.randint(0, 2)):
            change(random, cluster, kinds)
        cluster.run(POLICIES[name], assume=assume)


@settings(max_examples=examples(100), deadline=None)
@given(random=seeded, steps=st.integers(2, 6))
def test_under_another_policy_they_are_asked_about_anew(random: Random, steps: int) -> None:
    cluster = Backlogged(*backlog(random, ENTERING))
    for _ in range(steps):
        change(random, cluster, ENTERING)
        cluster.run(random.choice([*POLICIES.values()]), assume=random.random() < 0.5)


def test_after_an_admission_they_are_told_of_what_is_admitted_by_then() -> None:
    words = "queue=r min=1 pods=1 cpu={0} phase=Pending minResources=cpu:{0} age={1}"
    cluster = Backlogged(
        f"job x/big-a {words.format(13, 9)}",
        *(f"job x/small-{letter} {words.format(2, 5)}" for letter in "abcdefghijkl"),
        *(f"job x/big-{letter} {words.format(13, 0)}" for letter in "bcd"),
    )
    told = cluster.run(POLICIES["beyond the cluster"], assume=False).jobs
    admitted = [key for key, outcome in told.items() if outcome.phase == "Inqueue"]
    assert admitted == [f"x/small-{letter}" for letter in "abcdef"]
    assert told["x/big-a"].message != told["x/big-b"].message


class Ranking(Plugin[NoArgs], JobOrder):
    """Counts how often it is asked about the order of jobs."""

    name = "ranking"
    by_job_alone = True
    asked: ClassVar[int] = 0

    def job_key(self, job: JobView) -> int:
        Ranking.asked += 1
        return 0


@pytest.mark.parametrize(
    "kind",
    [pytest.param("greedy", id="with pods"), pytest.param("empty", id="whose pods are not made yet")],
)
def test_beside_those_that_wait_as_before_only_one_that_is_new_is_put_in_order_and_told(kind: str) -> None:
    registry = Registry.of((*PLUGINS, Ranking), REGISTRY.actions.values())
    tiers = (*POLICY.tiers, PluginTier((PluginConf(Ranking.name, NoArgs()),)))
    policy, memo = msgspec.structs.replace(POLICY, tiers=tiers), Memo(Mode.ON)
    cluster = Backlogged(*(job(number, kind) for number in range(40)))

    def cycle() -> CycleReport:
        return run_cycle(cluster.cache.snapshot(cluster.now), policy, registry, memo=memo)

    before = cycle()
    Ranking.asked = 0
    cluster.put(job(40, kind))
    after = cycle()
    assert {outcome.phase for outcome in after.jobs.values()} == {"Pending"}
    assert [key for key, outcome in after.jobs.items() if outcome is not before.jobs.get(key)] == [f"x/{kind}40"]
    assert Ranking.asked == 1


def test_jobs_without_pods_are_told_anew_after_a_cycle_that_kept_room_for_others() -> None:
    policy = POLICIES["taking"]
    cluster = Backlogged(*(job(number, "empty") for number in range(4)))
    cluster.run(policy, assume=False)
    cluster.put("pods y/leaves 6 cpu=1 on=n1 leaving")
    cluster.put("job x/waits queue=r min=1 pods=1 cpu=6 phase=Inqueue")
    cluster.run(policy, assume=False)
    cluster.put("job x/waits queue=r min=1 pods=1 cpu=5 phase=Inqueue")
    cluster.run(policy, assume=False)
    cluster.drop("job x/waits")
    cluster.run(policy, assume=False)
