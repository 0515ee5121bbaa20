"""The daemon under the account that the chart gives it, in an embedded cluster with authorization on."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import msgspec
import pytest
import yaml
from click.testing import CliRunner

from tests.helm.accounts import (
    LOCKED,
    RUNNER,
    Recorder,
    answers,
    connection,
    covers,
    daemon_of,
    runner_of,
    token_of,
)
from tests.helm.releases import Released, secret_of, there
from tests.support import devices, vcjob_cluster, volumes
from tests.support.charts import NAMESPACE, POD, RELEASE, VCJOBS, Obj, objects_of, one, options_in
from tests.support.hypernodes import HYPERNODES, hypernode_object
from tests.support.owners import queue
from tests.support.running import PODGROUPS, gang, nodes_of, pod, queue_status, status_of
from tests.support.sharing import ALLOCATIONS, bucket, consumer, deployment, machine, namespace, runs, scale
from tests.support.waiting import until
from vsched.cli import cli
from vsched.daemon.access_options import AccessOptions
from vsched.daemon.lead.leader_address import LEADER_LABEL
from vsched.daemon.options import Options
from vsched.daemon.permissions.needs import needed
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError
from vsched.lab.children import free_port
from vsched.settings.workloads import built_in_table
from vsched.sim.cluster import Cluster

GPU = "example.com/gpu"
CRONS, FLOWS = "batch.volcano.sh/cronjobs", "flow.volcano.sh/jobflows"
VALUES: Obj = {
    "arbitration": {"enabled": True, "interval": "100ms", "grace": "100ms"},
    "leaderElection": {"leaseDuration": "10s", "renewDeadline": "8s", "retryPeriod": "200ms"},
    "webhook": {"failurePolicy": "Fail"},
    "tls": {"listen": True, "certificate": {"source": "self"}},
    "access": {"authentication": "tokenreview"},
}


def options_at_home(folder: Path) -> Options:
    """The options of the chart, at free ports of this machine, with a place for the certificate."""
    return msgspec.structs.replace(
        options_in(objects_of(VALUES)),
        listen_address=f"127.0.0.1:{free_port()}",
        healthz_address="",
        webhook_address=f"127.0.0.1:{free_port()}",
        tls_cert_file=folder / "tls.crt",
        tls_key_file=folder / "tls.key",
        drain_seconds=1.0,
        history_period_seconds=0.2,
    )


NOWHERE = {"listen_address": "", "healthz_address": "", "tls_cert_file": None, "tls_key_file": None}
NOWHERE |= {"tls_secret": "", "tls_names": (), "access": AccessOptions()}
LATER = {
    ("patch", "podgroups/status"): "statuses, where the definition has a status subresource",
    ("patch", "compositepodgroups/status"): "conditions of Kubernetes' own groups, where the API server has them",
    ("patch", "events"): "an Event that is repeated, some time later",
    ("get", "pods"): "a pod whose accepted binding no watch has shown for half a minute",
    ("create", "evictionrequests"): "a pod whose responders are asked before it is evicted",
    ("patch", "evictionrequests"): "the same, and when its resources are no longer needed",
    ("delete", "resourceclaims"): "a claim for extended resources that was made in vain",
    ("patch", "resourceclaims/binding"): "nobody asks for it: the API server checks it when a claim is allocated",
    ("update", "resourceclaims/binding"): "the same, for servers that check the other verb",
    **{
        (verb, kind.resources[0].plural): "a kind of workload that an operator brings with it"
        for kind in built_in_table().followed
        for verb in ("list", "watch")
    },
    ("patch", "mutatingwebhookconfigurations"): "the webhook that gives vcjobs their defaults, where it is switched on",
    ("get", "podgroups"): "the PodGroup of a vcjob that a daemon made which was killed before it could say so",
    ("get", "persistentvolumeclaims"): "the same of a claim",
    ("list", "nodepools"): "Karpenter's kind, which it brings with it",
    ("watch", "nodepools"): "the same",
}
"""Rights that the run below may have no use for, and why they are needed."""


async def test_the_daemon_does_all_its_work_under_the_account_and_with_no_more_than_it_needs(tmp_path: Path) -> None:
    recorder = Recorder()
    async with Cluster(
        [machine("n1", "2500m", "8Gi"), machine("n2", "2500m", "8Gi")], settings=LOCKED, gate=recorder
    ) as cluster:
        release = Released(cluster, tmp_path)
        await release.install(VALUES)
        options = options_at_home(tmp_path)
        stand_behind_the_service(cluster, options)
        await stand_in_pods(cluster)
        await run_helm_test(cluster, release, tmp_path)
        token = await token_of(cluster)
        async with daemon_of(cluster, options, token) as daemon, AsyncExitStack() as stack:
            await until(lambda: daemon.telemetry.findings.arbitrated is not None)
            runs = msgspec.structs.replace(options_in(objects_of(VALUES), VCJOBS), **NOWHERE)
            runner = await stack.enter_async_context(runner_of(cluster, runs, await token_of(cluster, RUNNER)))
            assert set(daemon.health.ready().details["absent"]) == {"NodePool"}  # Karpenter brings it
            second = {"listen_address": "127.0.0.1:0", "webhook_address": "", "leader_pod": ""}
            async with daemon_of(cluster, msgspec.structs.replace(options, **second), token) as standby:
                await until(lambda: standby.health.ready().ok)
                assert standby.election.role == "standby"
            await work(cluster)
            await review(cluster)
            await read_pages(cluster, options)
            for process in (daemon, runner):
                codes = answers(process)
                assert {"200", "201"} <= codes
                assert not codes & {"401", "403"}
        assert leads(there(cluster, "pods", POD, NAMESPACE))
        assert not leads(there(cluster, "pods", "killed", NAMESPACE))
    for wanted, found in ((needed(options), recorder.rights), (needed(runs, None, NAMESPACE), recorder.of_runner)):
        unused = {right for right in wanted if not any(covers(right, seen) for seen in found)}
        assert {(right.verb, right.resource) for right in unused} <= set(LATER)
        assert {seen for seen in found if not any(covers(right, seen) for right in wanted)} == set()


def stand_behind_the_service(cluster: Cluster, options: Options) -> None:
    """What a kubelet and the endpoints controller would do: the daemon is behind its Service."""
    port = int(options.webhook_address.rpartition(":")[2])
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "webhook", "port": port}]}
    metadata = {"name": RELEASE, "namespace": NAMESPACE}
    cluster.client.create(
        "endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]}
    )


async def stand_in_pods(cluster: Cluster) -> None:
    """The pod of the daemon, and one that was killed while it led, in place of those that the Deployment makes.

    Those would wait for ever, as nothing here places them, and claim a part of the cluster.
    """
    for name in (RELEASE, RUNNER):
        cluster.client.delete("apps/deployments", NAMESPACE, name)
    await until(lambda: not cluster.client.list("apps/replicasets", NAMESPACE))
    await until(lambda: not cluster.client.list("pods", NAMESPACE))
    selected = one(objects_of(VALUES), "Service", "vsched-leader")["spec"]["selector"]
    of_all = {key: value for key, value in selected.items() if key != LEADER_LABEL}
    for name, labels in ((POD, of_all), ("killed", selected)):
        made = pod(name)
        made["metadata"] = {"name": name, "namespace": NAMESPACE, "labels": labels}
        # They wait for nothing: what they asked for would be divided, too.
        made["spec"] |= {"nodeName": "n1", "schedulerName": "default-scheduler"}
        made["spec"]["containers"][0]["resources"] = {}
        cluster.client.create("pods", made)


async def run_helm_test(cluster: Cluster, release: Released, folder: Path) -> None:
    """``helm test``, whose containers run here, each under the account of its pod."""
    under_way = asyncio.create_task(release.test())
    for name in (RELEASE, RUNNER):
        await until(lambda name=name: cluster.client.get("pods", NAMESPACE, f"{name}-test") or under_way.done())
        found = there(cluster, "pods", f"{name}-test", NAMESPACE)
        assert found["spec"]["serviceAccountName"] == name
        config = cluster.kubeconfig()
        config["users"][0]["user"] = {"token": await token_of(cluster, name)}
        (folder / name).write_text(yaml.safe_dump(config))
        (folder / "scheduler.yaml").write_text(
            there(cluster, "configmaps", "vsched-policy", NAMESPACE)["data"]["scheduler.yaml"]
        )
        for container in found["spec"]["containers"]:
            arguments = [each.replace("/etc/vsched/policy", str(folder)) for each in container["args"]]
            more = ["--kubeconfig", str(folder / name)] if container["name"] == "rights" else []
            wanted = [each.replace("$(POD_NAME)", POD) for each in (*arguments, *more)]
            done = await asyncio.to_thread(CliRunner().invoke, cli, wanted)
            assert done.exit_code == 0, (done.output, done.exception)
        cluster.client.patch_status("pods", NAMESPACE, f"{name}-test", ended)
    await under_way


def ended(found: Obj) -> Obj:
    return {**found, "status": {**found.get("status", {}), "phase": "Succeeded"}}


def leads(obj: Obj) -> bool:
    """Whether the chart's Service for the leader selects the pod."""
    selected = one(objects_of(VALUES), "Service", "vsched-leader")["spec"]["selector"]
    return selected.items() <= obj["metadata"]["labels"].items()


async def work(cluster: Cluster) -> None:
    """Something of everything: gangs, bare pods, queues that close, namespaces that take back from one another."""
    stands_open = queue("other")
    stands_open["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-state": "open"}
    cluster.apply([*gang("small", 2, cpu="100m"), *gang("large", 99), pod("bare", cpu="100m"), stands_open])
    await until(lambda: len(nodes_of(cluster, "small")) == 2 and nodes_of(cluster, "bare"))
    await until(lambda: status_of(cluster, "large").get("conditions"))
    await work_with_claims(cluster)
    cluster.apply([hypernode_object("rack", 1, "n1")])
    await until(lambda: (there(cluster, HYPERNODES, "rack").get("status") or {}).get("nodeCount") == 1)
    for number in range(99):  # what waits claims a part of the cluster
        cluster.client.delete("pods", "default", f"large-{number}")
    cluster.client.delete("pods", "default", "bare")

    await work_with_vcjobs(cluster)
    nowhere = close(cluster, "other")
    nowhere["metadata"]["name"] = "close-nowhere"
    nowhere["target"]["name"] = "nowhere"
    cluster.apply([close(cluster, "other"), nowhere])
    await until(lambda: not cluster.client.list("bus.volcano.sh/commands", NAMESPACE))
    await until(lambda: queue_status(cluster, "other").get("state") == "Closed")

    cluster.apply(
        [bucket("b", weight=2), namespace("one"), consumer("one", parent="b"), deployment("one", 4, "vsched")]
    )
    await until(lambda: runs(cluster)["one"] == 4)
    cluster.apply([namespace("two"), deployment("two", 3, "vsched")])
    await until(lambda: runs(cluster)["two"] >= 1)
    spec: Obj = {"spec": {"deserved": {}}}
    cluster.apply(
        [
            {
                "apiVersion": consumer("two")["apiVersion"],
                "kind": "Allocation",
                "metadata": {"name": "stray", "namespace": "two"},
                **spec,
            }
        ]
    )
    await until(lambda: cluster.client.get(ALLOCATIONS, "two", "stray") is None)
    scale(cluster, "one", 0)
    await until(lambda: not cluster.client.list(PODGROUPS, "one"))


async def work_with_vcjobs(cluster: Cluster) -> None:
    """A vcjob with objects of plugins and a claim: it grows, is ended by a Command, and is deleted in the end."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"mountPath": "/data", "volumeClaim": {**claim, "storageClassName": volumes.CLASS}}
    about = {"plugins": {"svc": [], "ssh": []}, "volumes": [volume], "ttlSecondsAfterFinished": 0, "minAvailable": 1}
    cluster.apply([vcjob_cluster.vcjob("train", vcjob_cluster.task("worker", 1), **about)])
    await until(lambda: vcjob_cluster.phase(cluster, "train") == "Running")
    vcjob_cluster.change(cluster, "train", lambda spec: {**spec, "tasks": [{**spec["tasks"][0], "replicas": 2}]})
    await until(lambda: len(vcjob_cluster.pods(cluster, "train")) == 2)
    vcjob_cluster.command(cluster, "AbortJob", "nobody", uid="of a job that is gone")
    vcjob_cluster.command(cluster, "TerminateJob", "train")
    await until(lambda: not vcjob_cluster.job(cluster, "train") and not vcjob_cluster.commands(cluster))
    cluster.apply(made_of_templates())
    await until(lambda: _status_of(cluster, FLOWS, "flow").get("state") == {"phase": "Succeed"})
    await until(lambda: "lastScheduleTime" in _status_of(cluster, CRONS, "often"))
    cluster.client.delete(CRONS, "default", "often")


def _status_of(cluster: Cluster, resource: str, name: str) -> Obj:
    return (cluster.client.get(resource, "default", name) or {}).get("status") or {}


def made_of_templates() -> list[Obj]:
    """A JobFlow of one step, and a CronJob that is due at once."""
    spec = vcjob_cluster.vcjob("step", vcjob_cluster.task("worker", 1, "50ms"))["spec"]
    cron = {"schedule": "@every 1s", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": spec}}
    made = {
        "flow.volcano.sh/v1alpha1 JobTemplate": ("step", spec),
        "flow.volcano.sh/v1alpha1 JobFlow": ("flow", {"flows": [{"name": "step"}]}),
        "batch.volcano.sh/v1alpha1 CronJob": ("often", cron),
    }
    return [
        {
            "apiVersion": kind.split()[0],
            "kind": kind.split()[1],
            "metadata": {"name": name, "namespace": "default"},
            "spec": content,
        }
        for kind, (name, content) in made.items()
    ]


async def work_with_claims(cluster: Cluster) -> None:
    """A gang of two: one has a volume that is made, one that is there, and a device; the other an extended resource."""
    group, first, second = gang("claiming", 2, cpu="100m")
    first["spec"] |= {
        "volumes": volumes.claim_volumes("data", "static"),
        "resourceClaims": devices.pod_claims(gpu="gpus"),
    }
    amounts = {"cpu": "100m", GPU: "1"}
    second["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": {GPU: "1"}}
    cluster.apply(
        [
            volumes.storage_class(),
            volumes.storage_class("local", provisioner=volumes.NO_PROVISIONER),
            volumes.volume("disk", storage_class="local"),
            volumes.claim("data", namespace="default"),
            volumes.claim("static", namespace="default", storage_class="local"),
            devices.device_class(spec={"extendedResourceName": GPU}),
            devices.resource_slice("n1", 3),
            devices.resource_claim("gpus", namespace="default"),
            *(group, first, second),
        ]
    )
    await until(lambda: len(nodes_of(cluster, "claiming")) == 2)
    for found in (first, second):
        cluster.client.delete("pods", "default", found["metadata"]["name"])


def close(cluster: Cluster, name: str) -> Obj:
    """A Command that closes a queue."""
    target = there(cluster, "scheduling.volcano.sh/queues", name)
    owner = {"apiVersion": target["apiVersion"], "kind": "Queue", "name": name, "uid": target["metadata"]["uid"]}
    metadata = {"name": f"close-{name}", "namespace": NAMESPACE}
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": metadata,
        "action": "CloseQueue",
        "target": owner,
    }


async def review(cluster: Cluster) -> None:
    """The API server asks the daemon about Consumers, and trusts the certificate that the daemon made."""
    async with ApiClient(connection(cluster, cluster.admin_token)) as client:
        wrong = consumer("one", "wrong", reserved={"cpu": "1000"})
        with pytest.raises(ApiError) as refused:
            await client.create(f"/apis/{wrong['apiVersion']}/namespaces/one/consumers", wrong)
    assert 'admission webhook "consumers.vsched.io" denied the request' in str(refused.value)


async def read_pages(cluster: Cluster, options: Options) -> None:
    """With a token that may, with one that nobody has, and with one that may not."""
    trust = ssl.create_default_context(cadata=secret_of(cluster, "vsched-certificate")["ca.crt"].decode())
    url = f"https://{options.listen_address}/metrics"
    async with aiohttp.ClientSession() as session:
        for token, code in ((cluster.admin_token, 200), ("wrong", 401), (await token_of(cluster), 403)):
            headers = {"Authorization": f"Bearer {token}"}
            async with session.get(url, headers=headers, ssl=trust, server_hostname="vsched.batch.svc") as response:
                assert response.status == code
