"""The samples of vcjobs do what their first lines promise, applied with kubectl to an embedded cluster."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.running import scheduling
from tests.support.shell import shell
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
SAMPLES = Path(__file__).parents[3] / "config" / "samples" / "vcjobs"
VCJOBS, PODGROUPS = "batch.volcano.sh/jobs", "scheduling.volcano.sh/podgroups"
NODES = 4

pytestmark = pytest.mark.kubectl


class Here:
    """An embedded cluster with the daemon, and what there is of one job."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self._folder = folder

    async def apply(self, sample: str, *, duration: str = "") -> None:
        """Apply a sample as its first lines say; all pods may run for another time."""
        text = (SAMPLES / f"{sample}.yaml").read_text(encoding="utf-8")
        assert f"# kubectl apply -f config/samples/vcjobs/{sample}.yaml\n" in text
        if duration:
            text = re.sub(r"(vsched.io/duration): \w+", rf"\1: {duration}", text)
        (self._folder / f"{sample}.yaml").write_text(text, encoding="utf-8")
        await self.kubectl(f"kubectl apply -f {self._folder}/{sample}.yaml")

    async def create(self, objects: list[Obj]) -> None:
        """Apply objects that a sample does not have so."""
        await self.kubectl(f"kubectl apply -f - <<'EOF'\n{yaml.safe_dump_all(objects)}\nEOF")

    async def kubectl(self, command: str) -> str:
        """What a command prints."""
        return await shell(self.cluster, self._folder, command)

    def status(self, name: str) -> Obj:
        """The status of a job."""
        return (self.cluster.client.get(VCJOBS, "default", name) or {}).get("status") or {}

    async def phase(self, name: str, wanted: str) -> Obj:
        """The status of a job once its phase is this one."""
        await until(lambda: self.status(name).get("state", {}).get("phase") == wanted)
        return self.status(name)

    def pods(self, name: str) -> dict[str, Obj]:
        """The pods of a job that are not being deleted."""
        return {
            found["metadata"]["name"]: found
            for found in self.cluster.client.list("pods", "default")
            if found["metadata"]["labels"].get("volcano.sh/job-name") == name
            and not found["metadata"].get("deletionTimestamp")
        }

    async def made(self, name: str, count: int) -> dict[str, Obj]:
        """The pods of a job once there are so many."""
        await until(lambda: len(self.pods(name)) == count)
        return self.pods(name)

    async def running(self, name: str, count: int) -> dict[str, Obj]:
        """The pods of a job once so many of them run."""

        def which() -> dict[str, Obj]:
            return {key: pod for key, pod in self.pods(name).items() if pod["status"].get("phase") == "Running"}

        await until(lambda: len(which()) == count)
        return which()

    def group(self, name: str) -> Obj:
        """The PodGroup of a job."""
        uid = (self.cluster.client.get(VCJOBS, "default", name) or {})["metadata"]["uid"]
        found = self.cluster.client.get(PODGROUPS, "default", f"{name}-{uid}")
        return dict(found or {})


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A cluster of a few nodes with the daemon."""
    async with Cluster(NODES) as cluster, scheduling(cluster.url):
        yield Here(cluster, tmp_path)


def env(pod: Obj) -> dict[str, str]:
    """The variables of a pod's first container that have a value."""
    return {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"] if "value" in each}


async def test_a_pytorch_job_is_complete_when_its_master_is(here: Here) -> None:
    await here.apply("pytorch")
    pods = await here.made("mnist", 4)
    assert env(pods["mnist-worker-2"]) == {
        "VK_TASK_INDEX": "2",
        "VC_TASK_INDEX": "2",
        "MASTER_ADDR": "mnist-master-0.mnist",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "4",
        "RANK": "3",
    }
    objects = json.loads(await here.kubectl("kubectl get svc,configmap,secret,networkpolicy -o json"))["items"]
    made = {
        (body["kind"], body["metadata"]["name"]) for body in objects if body["metadata"]["name"].startswith("mnist")
    }
    assert made == {
        ("Service", "mnist"),
        ("ConfigMap", "mnist-svc"),
        ("Secret", "mnist-ssh"),
        ("NetworkPolicy", "mnist"),
    }
    status = await here.phase("mnist", "Completed")
    assert status["succeeded"] == 1
    assert set(here.pods("mnist")) == {"mnist-master-0"}


async def test_a_job_is_stopped_and_goes_on_by_commands(here: Here) -> None:
    await here.apply("ray")
    before = await here.running("cluster", 3)
    await here.apply("abort")
    await here.phase("cluster", "Aborted")
    assert here.pods("cluster") == {}
    assert here.group("cluster") == {}
    await here.apply("resume")
    after = await here.running("cluster", 3)
    assert {pod["metadata"]["uid"] for pod in before.values()}.isdisjoint(
        pod["metadata"]["uid"] for pod in after.values()
    )
    assert await here.kubectl("kubectl get commands -o name") == ""


async def test_the_master_of_mpi_knows_its_workers_and_has_the_keys(here: Here) -> None:
    await here.apply("mpi")
    pods = await here.made("lm", 3)
    assert env(pods["lm-master-0"]) == {"MPI_HOST": "lm-worker-0.lm,lm-worker-1.lm"}
    mounts = pods["lm-worker-1"]["spec"]["containers"][0]["volumeMounts"]
    assert {each["mountPath"] for each in mounts} >= {"/root/.ssh", "/etc/volcano"}
    await here.phase("lm", "Completed")


async def test_a_tensorflow_job_is_complete_when_its_workers_are(here: Here) -> None:
    await here.apply("tensorflow")
    pods = await here.made("dist", 3)
    told = json.loads(env(pods["dist-worker-1"])["TF_CONFIG"])
    assert told["task"] == {"type": "worker", "index": 1}
    assert told["cluster"] == {
        "ps": ["dist-ps-0.dist:2222"],
        "worker": ["dist-worker-0.dist:2222", "dist-worker-1.dist:2222"],
    }
    status = await here.phase("dist", "Completed")
    assert status["succeeded"] == 2
    assert set(here.pods("dist")) == {"dist-worker-0", "dist-worker-1"}


async def test_a_ray_cluster_starts_again_without_its_head(here: Here) -> None:
    await here.apply("ray")
    before = await here.running("cluster", 3)
    assert before["cluster-worker-0"]["spec"]["containers"][0]["command"][-1].endswith("=cluster-head-0.cluster:6379")
    ports = await here.kubectl("kubectl get service cluster-head-svc -o 'jsonpath={.spec.ports[*].port}'")
    assert ports == "6379 8265 10001"
    await here.kubectl("kubectl delete pod cluster-head-0 --wait=false")
    await until(lambda: here.status("cluster").get("retryCount") == 1)
    await until(
        lambda: (
            not {pod["metadata"]["uid"] for pod in before.values()}
            & {pod["metadata"]["uid"] for pod in here.pods("cluster").values()}
        ),
    )
    await here.running("cluster", 3)


async def test_a_task_starts_again_after_its_exit_code_until_no_retry_is_left(here: Here) -> None:
    await here.apply("restart-by-exit-code")
    seen = defaultdict[str, set[str]](set)

    def has_failed() -> bool:
        for name, pod in here.pods("retries").items():
            seen[name].add(pod["metadata"]["uid"])
        return bool(here.status("retries").get("state", {}).get("phase") == "Failed")

    await until(has_failed)
    assert here.status("retries")["retryCount"] == 2
    assert {name: len(uids) for name, uids in seen.items()} == {
        "retries-server-0": 1,
        "retries-worker-0": 2,
        "retries-worker-1": 2,
    }


async def test_tasks_come_one_after_the_other(here: Here) -> None:
    await here.apply("depends-on")
    await here.phase("steps", "Completed")
    pods = here.pods("steps")
    made = {name: pod["metadata"]["creationTimestamp"] for name, pod in pods.items()}
    started = {name: pod["status"]["startTime"] for name, pod in pods.items()}
    assert set(made) == {"steps-load-0", "steps-train-0", "steps-train-1", "steps-test-0"}
    assert started["steps-load-0"] <= made["steps-train-0"]
    assert started["steps-train-1"] <= made["steps-test-0"]


async def test_tasks_that_still_wait_are_no_part_of_the_gang(here: Here) -> None:
    (job,) = yaml.safe_load_all((SAMPLES / "depends-on.yaml").read_text(encoding="utf-8"))
    del job["spec"]["minAvailable"]
    await here.create([job])
    await until(lambda: here.pods("steps"))
    assert here.group("steps")["spec"]["minTaskMember"] == {"load": 1}
    await until(lambda: "steps-test-0" in here.pods("steps"))
    assert here.group("steps")["spec"]["minTaskMember"] == {"load": 1, "train": 2, "test": 1}
    await here.phase("steps", "Completed")


async def test_a_partition_starts_again_by_itself(here: Here) -> None:
    await here.apply("partitions")
    before = await here.running("pairs", 6)
    partitions = {name: pod["metadata"]["labels"]["volcano.sh/partition-id"] for name, pod in before.items()}
    assert partitions == {f"pairs-worker-{number}": str(number // 2) for number in range(6)}
    assert here.group("pairs")["spec"]["subGroupPolicy"][0]["subGroupSize"] == 2

    def fail(pod: Obj) -> Obj:
        ended = {"name": "main", "state": {"terminated": {"exitCode": 1}}, "ready": False}
        return {**pod, "status": {**pod["status"], "phase": "Failed", "containerStatuses": [ended]}}

    here.cluster.client.patch_status("pods", "default", "pairs-worker-2", fail)
    await until(lambda: here.status("pairs").get("retryCount") == 1)
    await here.phase("pairs", "Running")
    after = await here.running("pairs", 6)
    same = {name for name, pod in after.items() if pod["metadata"]["uid"] == before[name]["metadata"]["uid"]}
    assert same == {"pairs-worker-0", "pairs-worker-1", "pairs-worker-4", "pairs-worker-5"}


async def test_a_job_waits_for_the_claim_that_it_names_and_makes_the_other(here: Here) -> None:
    *others, claim = yaml.safe_load_all((SAMPLES / "volumes.yaml").read_text(encoding="utf-8"))
    await here.create(others)
    await until(lambda: "data" in str(here.cluster.client.list("events", "default")))
    assert here.pods("shared") == {}
    await here.create([claim])
    pods = await here.running("shared", 2)
    sources = [
        [
            each["persistentVolumeClaim"]["claimName"]
            for each in pod["spec"]["volumes"]
            if "persistentVolumeClaim" in each
        ]
        for pod in pods.values()
    ]
    (made,) = (name for name in sources[0] if name != "data")
    assert sources == [["data", made]] * 2
    assert made.startswith("shared-pvc-")
    assert (await here.kubectl(f"kubectl get pvc {made} -o jsonpath='{{.status.phase}}'")) == "Bound"
