"""Each right taken away: what is said of it, and what stops until it is given back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.helm.accounts import LOCKED, RUNNER, answers, connection, daemon_of, runner_of, token_of
from tests.support import vcjob_cluster, volumes
from tests.support.charts import NAMESPACE, RELEASE
from tests.support.queue_commands import events
from tests.support.running import node, nodes_of, pod
from tests.support.waiting import until
from vsched.cli.rbac import words
from vsched.cli.rbac.command import lacking, manifests
from vsched.daemon.options import Options
from vsched.daemon.permissions.needs import Right, reasons
from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LeaseSettings
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
AT_HOME = LeaseSettings(namespace=NAMESPACE, name=RELEASE)
SCHEDULER = Options(
    vcjobs="apart", job_namespaces=("default",), leader_elect=True, lease=AT_HOME, listen_address="", healthz_address=""
)
VCJOBS = Options(
    vcjobs="only",
    job_namespaces=("default",),
    leader_elect=True,
    lease=LeaseSettings(namespace=NAMESPACE, name=RUNNER),
    listen_address="",
    healthz_address="",
)
WHOSE = {RELEASE: SCHEDULER, RUNNER: VCJOBS}


def roles(account: str, without: Iterable[Right] = ()) -> list[Obj]:
    """The roles of an account, as vsched rbac has them, but for some rights."""
    found = {right: why for right, why in reasons(WHOSE[account], None, NAMESPACE).items() if right not in set(without)}
    made = list(manifests(found, account, {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}))
    for each in made:
        for rule in each.get("rules", ()):
            del rule["why"]
    return made


TAKEN = {
    "create pods": ("pod", "pods"),
    "create podgroups": ("podgroup", "scheduling.volcano.sh/podgroups"),
    "create services": ("service", "services"),
    "create configmaps": ("configmap", "configmaps"),
    "create networkpolicies": ("networkpolicy", "networking.k8s.io/networkpolicies"),
    "create secrets": ("secret", "secrets"),
    "create persistentvolumeclaims": ("persistentvolumeclaim", "persistentvolumeclaims"),
    "update jobs/status": ("status", "batch.volcano.sh/jobs/status"),
}
"""What cannot be done for a vcjob, as its Events begin, and the resource that the right is about."""


async def test_a_right_of_the_account_of_vcjobs_stops_vcjobs_and_nothing_else() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    about = {
        "plugins": {"svc": [], "ssh": []},
        "volumes": [{"mountPath": "/data", "volumeClaim": {**claim, "storageClassName": volumes.CLASS}}],
    }
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    accounts = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}
        for name in WHOSE
    ]
    async with Cluster(
        [node("n1", cpu="64")], manifests=[home, *accounts, volumes.storage_class()], settings=LOCKED
    ) as cluster:
        cluster.apply([*roles(RELEASE), *roles(RUNNER)])
        token = await token_of(cluster, RUNNER)
        async with (
            daemon_of(cluster, SCHEDULER, await token_of(cluster)) as daemon,
            runner_of(cluster, VCJOBS, token) as runner,
            ApiClient(connection(cluster, token)) as client,
        ):
            for number, (what, (kind, resource)) in enumerate(TAKEN.items()):
                verb = what.split()[0]
                group = resource.partition("/")[0] if "." in resource else ""
                right = Right(verb, group, resource.removeprefix(f"{group}/"), "default")
                cluster.apply(roles(RUNNER, [right]))
                needed = reasons(VCJOBS, None, NAMESPACE)
                assert await lacking(client, sorted(needed)) == [right], what
                assert all(" without it, " in words.is_missing(right, why) for why in needed[right])
                name = f"j{number}"
                cluster.apply([vcjob_cluster.vcjob(name, vcjob_cluster.task("worker", 1), **about)])
                await until(lambda name=name, kind=kind: said_of(cluster, name, kind))
                assert vcjob_cluster.phase(cluster, name) != "Running"
                cluster.apply([pod(f"plain-{number}", cpu="100m")])
                await until(lambda number=number: nodes_of(cluster, f"plain-{number}"))
                cluster.apply(roles(RUNNER))
                await until(lambda name=name: vcjob_cluster.phase(cluster, name) == "Running")
            assert "403" in answers(runner)
            assert "403" not in answers(daemon)


def said_of(cluster: Cluster, job: str, kind: str) -> bool:
    """Whether an Event of a vcjob says that something of this kind is forbidden."""
    return any(kind in said.lower() and "forbidden" in said for said in events(cluster, job).values())


@pytest.mark.parametrize("account", WHOSE)
def test_a_role_without_a_right_lacks_that_one_alone(account: str) -> None:
    whole = reasons(WHOSE[account], None, NAMESPACE)
    for right in whole:
        left = {
            (verb, each["apiGroups"][0], resource, role["metadata"].get("namespace", ""), name)
            for role in roles(account, [right])
            for each in role.get("rules", ())
            for verb in each["verbs"]
            for resource in each["resources"]
            for name in each.get("resourceNames", [""])
        }
        assert {*whole} - {Right(*each) for each in left} == {right}
