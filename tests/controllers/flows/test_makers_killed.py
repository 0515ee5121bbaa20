"""CronJobs and JobFlows whose daemon is killed at any moment: no vcjob is lost, and none is made twice."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.controllers.flows.makers import CRONS, FLOWS, TEMPLATES, after, cron_job, job_flow, job_template, messages
from tests.support.killing import killed_after
from tests.support.running import node, scheduling
from tests.support.vcjob_cluster import VCJOBS, phase, task, vcjob
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
MAKER_WRITES = (
    r"(POST /apis/batch\.volcano\.sh/v1alpha1/namespaces/default/jobs"
    r"|(PUT|DELETE) /apis/(batch|flow)\.volcano\.sh/v1alpha1/namespaces/default/.*)"
)
"""What is written of CronJobs, JobFlows, JobTemplates and vcjobs."""
SHORT = task("worker", 1, "50ms")
POLICIES = {"allow": "Allow", "forbid": "Forbid", "replace": "Replace"}


def manifests() -> list[Obj]:
    """A JobFlow of three, and CronJobs that have missed runs."""
    return [
        job_flow({"name": "a"}, after("b", "a"), after("c", "b")),
        *(job_template(name, SHORT) for name in "abc"),
        *(cron_job(name, concurrencyPolicy=policy) for name, policy in POLICIES.items()),
        cron_job("daily", schedule="0 3 * * *"),
        cron_job("late", startingDeadlineSeconds=1),
    ]


def running_of(cluster: Cluster, cron: str) -> Obj:
    """A vcjob of a CronJob that does not end, of an earlier run."""
    owner = cluster.client.get(CRONS, "default", cron) or {}
    reference = {"apiVersion": owner["apiVersion"], "kind": "CronJob", "name": cron, "uid": owner["metadata"]["uid"]}
    made = vcjob(f"{cron}-1", task("worker", 1))
    made["metadata"]["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    return made


def scheduled(cluster: Cluster, cron: str) -> bool:
    """Whether the status names a run later than the one that it began with."""
    found = (cluster.client.get(CRONS, "default", cron) or {}).get("status") or {}
    return str(found.get("lastScheduleTime", "")) > "2021"


def is_done(cluster: Cluster) -> bool:
    flow = (cluster.client.get(FLOWS, "default", "f") or {}).get("status") or {}
    return flow.get("state") == {"phase": "Succeed"} and all(
        scheduled(cluster, cron) for cron in ("allow", "replace", "daily")
    )


def listed(cluster: Cluster, template: str) -> list[str] | None:
    """The vcjobs that the status of a JobTemplate names."""
    found = (cluster.client.get(TEMPLATES, "default", template) or {}).get("status") or {}
    return found.get("jobDependsOnList")


async def test_vcjobs_are_made_once_however_often_the_daemon_is_killed() -> None:
    async with Cluster([node("n1")], manifests=manifests()) as cluster:
        for cron in ("forbid", "replace"):
            cluster.client.create(VCJOBS, running_of(cluster, cron))
        changes = cluster.store.subscribe(cluster.client.kind(VCJOBS))
        for count in (1, 3, 7):
            assert await killed_after(cluster, MAKER_WRITES, count, is_done)
        async with scheduling(cluster.url):
            await until(lambda: is_done(cluster))
            await until(lambda: phase(cluster, "forbid-1") == "Running")
            await until(lambda: messages(cluster, "late", "MissSchedule"))
            await until(lambda: all(listed(cluster, name) == [f"f-{name}"] for name in "abc"))
        made = defaultdict[str, set[str]](set)
        while events := changes.take():
            for event in events:
                made[event.obj["metadata"]["name"]].add(event.obj["metadata"]["uid"])
        assert {name: len(uids) for name, uids in made.items() if len(uids) > 1} == {}, "made twice"
        runs = {cron: [name for name in made if name.startswith(f"{cron}-")] for cron in (*POLICIES, "daily", "late")}
        assert {cron: len(names) for cron, names in runs.items()} == {
            "allow": 1,  # the newest of the runs that were missed
            "forbid": 1,  # the one that runs
            "replace": 2,  # the one that ran, and that which has taken its place
            "daily": 1,
            "late": 0,
        }
        assert cluster.client.get(VCJOBS, "default", "replace-1") is None
        assert sorted(name for name in made if name.startswith("f-")) == ["f-a", "f-b", "f-c"]
