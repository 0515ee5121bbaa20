"""Plugins for PyTorch, MPI, TensorFlow, Ray and HCCL: what each framework reads to find the other pods."""

from __future__ import annotations

import json
import socket
import subprocess
from typing import Any

import pytest

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.objects import objects_of
from vsched.controllers.vcjobs.plugins import KeyPair
from vsched.controllers.vcjobs.pods import pod_of
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob

OPEN = {"svc": ("--inject-hosts-env=false",)}
MASTER, WORKERS, OTHER = task("master"), task("worker", 2), task("logger")


def pod(job: VcJob, name: str, index: int = 0) -> dict[str, Any]:
    """A pod of the job."""
    return pod_of(job, next(each for each in job.tasks if each.name == name), index)


def using(plugin: str, *arguments: str, tasks: tuple[TaskSpec, ...] = (MASTER, WORKERS, OTHER)) -> VcJob:
    """A job with a plugin."""
    return vcjob(*tasks, plugins={plugin: arguments, **OPEN})


def env(body: dict[str, Any]) -> dict[str, str]:
    """The variables of the first container."""
    return {each["name"]: each["value"] for each in body["spec"]["containers"][0].get("env", ())}


def ports(container: dict[str, Any]) -> dict[str, int]:
    """The ports of a container by name."""
    return {each.get("name", ""): each["containerPort"] for each in container.get("ports", ())}


@pytest.mark.parametrize(
    ("name", "index", "rank"),
    [
        pytest.param("master", 0, {"RANK": "0"}, id="the master is the first"),
        pytest.param("worker", 0, {"RANK": "1"}, id="workers come after it"),
        pytest.param("worker", 1, {"RANK": "2"}, id="in order"),
        pytest.param("logger", 0, {}, id="another task has no rank"),
    ],
)
def test_pytorch_is_told_its_master_its_size_and_its_rank(name: str, index: int, rank: dict[str, str]) -> None:
    body = pod(using("pytorch"), name, index)
    address = {"MASTER_ADDR": "train-master-0.train", "MASTER_PORT": "23456"}
    assert env(body) == {**address, "WORLD_SIZE": "3", **rank}
    assert ports(body["spec"]["containers"][0]) == {"pytorchjob-port": 23456}


def test_pytorch_goes_by_the_names_of_tasks_that_it_is_given() -> None:
    job = using("pytorch", "--master=head", "--worker=node", "--port=7", tasks=(task("head"), task("node", 4)))
    told = env(pod(job, "node", 3))
    assert told == {"MASTER_ADDR": "train-head-0.train", "MASTER_PORT": "7", "WORLD_SIZE": "5", "RANK": "4"}


def test_a_port_that_a_container_has_is_not_opened_again() -> None:
    containers = [{"name": "c", "ports": [{"name": "own", "containerPort": 23456}]}]
    job = using("pytorch", tasks=(task("master", spec={"containers": containers}),))
    assert ports(pod(job, "master")["spec"]["containers"][0]) == {"own": 23456}


def test_without_its_master_a_pytorch_job_is_left_as_it_is() -> None:
    assert env(pod(using("pytorch", tasks=(WORKERS,)), "worker")) == {}


def test_workers_wait_for_the_master_where_that_is_wanted() -> None:
    job = using("pytorch", "--wait-master-enabled", "--wait-master-timeout=7", "--wait-master-image=mine")
    (waiting,) = pod(job, "worker")["spec"]["initContainers"]
    assert (waiting["name"], waiting["image"]) == ("wait-for-master", "mine")
    assert {each["name"] for each in waiting["env"]} == {"MASTER_ADDR", "MASTER_PORT"}
    assert "initContainers" not in pod(job, "master")["spec"]
    assert "initContainers" not in pod(using("pytorch"), "worker")["spec"]


@pytest.mark.parametrize(
    ("listens", "code"),
    [
        pytest.param(True, 0, id="a master that answers"),
        pytest.param(False, 1, id="one that does not, until the time-out"),
    ],
)
def test_the_command_that_waits_ends_when_the_master_answers(listens: bool, code: int) -> None:
    job = using("pytorch", "--wait-master-enabled", f"--wait-master-timeout={60 if listens else 0}")
    (waiting,) = pod(job, "worker")["spec"]["initContainers"]
    with socket.socket() as master:
        master.bind(("127.0.0.1", 0))
        if listens:
            master.listen()
        told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(master.getsockname()[1])}
        ended = subprocess.run(waiting["command"], env={"PATH": "/usr/bin:/bin", **told}, timeout=90, check=False)
    assert ended.returncode == code


def test_the_master_of_mpi_is_told_its_workers_and_all_open_the_port_of_ssh() -> None:
    containers = {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}
    job = using("mpi", tasks=(task("master", spec=containers), WORKERS))
    master, worker = pod(job, "master")["spec"], pod(job, "worker")
    hosts = {"name": "MPI_HOST", "value": "train-worker-0.train,train-worker-1.train"}
    for container in (*master["containers"], *master["initContainers"]):
        assert container["env"] == [hosts]
        assert ports(container) == {"mpijob-port": 22}
    assert env(worker) == {}
    assert ports(worker["spec"]["containers"][0]) == {"mpijob-port": 22}
    assert {each["name"] for each in worker["spec"]["volumes"]} == {"train-svc", "train-ssh"}


def test_tensorflow_is_told_the_hosts_of_all_roles_and_its_own_place() -> None:
    tasks = (task("ps", 1), task("worker", 2), task("boss"), task("logger"))
    told = json.loads(env(pod(using("tensorflow", "--chief=boss", tasks=tasks), "worker", 1))["TF_CONFIG"])
    assert told == {
        "cluster": {
            "ps": ["train-ps-0.train:2222"],
            "worker": ["train-worker-0.train:2222", "train-worker-1.train:2222"],
            "chief": ["train-boss-0.train:2222"],
        },
        "task": {"type": "worker", "index": 1},
    }


@pytest.mark.parametrize(
    ("name", "role"),
    [pytest.param("boss", "chief", id="its role"), pytest.param("logger", "logger", id="else its name")],
)
def test_tensorflow_calls_a_task_by_its_role(name: str, role: str) -> None:
    job = using("tensorflow", "--chief=boss", tasks=(task("boss"), task("logger"), task("worker")))
    assert json.loads(env(pod(job, name))["TF_CONFIG"])["task"]["type"] == role


def test_a_single_pod_of_tensorflow_needs_no_configuration() -> None:
    assert env(pod(using("tensorflow", tasks=(task("worker"),)), "worker")) == {}


def test_ray_starts_a_head_and_workers_that_join_it() -> None:
    both = {"containers": [{"name": "head", "command": ["mine"]}, {"name": "side", "command": ["own"]}]}
    job = using("ray", tasks=(task("head", spec=both), WORKERS))
    head, side = pod(job, "head")["spec"]["containers"]
    start = "ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265"
    assert head["command"] == ["sh", "-c", f"{start} --ray-client-server-port=10001"]
    assert ports(head) == {"gcs": 6379, "dashboard": 8265, "client-server": 10001}
    assert side["command"] == ["own"]
    (worker,) = pod(job, "worker", 1)["spec"]["containers"]
    assert worker["command"] == ["sh", "-c", "ray start --block --address=train-head-0.train:6379"]
    assert ports(worker) == {}


def test_the_head_of_ray_has_a_service() -> None:
    job = using("ray", "--head=boss", "--dashboardPort=80", tasks=(task("boss"),))
    (service,) = (body for body in objects_of(job, KeyPair("", "")) if body["metadata"]["name"] == "train-head-svc")
    assert service["spec"]["selector"]["volcano.sh/task-spec"] == "boss"
    assert "clusterIP" not in service["spec"]
    wanted = [("gcs", 6379, "gcs"), ("dashboard", 80, "dashboard"), ("client-server", 10001, "client-server")]
    assert [(each["name"], each["port"], each["targetPort"]) for each in service["spec"]["ports"]] == wanted


@pytest.mark.parametrize(
    ("name", "index", "plugins", "rank"),
    [
        pytest.param("master", 1, {"hcclrank": ()}, "1", id="masters come first"),
        pytest.param("worker", 1, {"hcclrank": ()}, "3", id="workers after them"),
        pytest.param("logger", 0, {"hcclrank": ()}, None, id="another task has none"),
        pytest.param("worker", 1, {"hcclrank": (), "pytorch": ()}, "2", id="the rank that PyTorch is given counts"),
        pytest.param("logger", 0, {"hcclrank": ("--worker=logger", "--master=none")}, "0", id="without masters"),
    ],
)
def test_hccl_reads_the_rank_of_a_pod_from_an_annotation(
    name: str, index: int, plugins: dict[str, tuple[str, ...]], rank: str | None
) -> None:
    job = vcjob(task("master", 2), WORKERS, OTHER, plugins=plugins)
    assert pod(job, name, index)["metadata"]["annotations"].get("hccl/rankIndex") == rank


def test_a_rank_that_the_template_says_stays() -> None:
    one = task("worker", 2, metadata={"annotations": {"hccl/rankIndex": "9"}})
    assert pod(vcjob(one, plugins={"hcclrank": ()}), "worker")["metadata"]["annotations"]["hccl/rankIndex"] == "9"
