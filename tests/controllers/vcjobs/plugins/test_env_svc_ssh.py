"""Plugins env, svc and ssh: what every pod gets, and the objects that tell pods of each other."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.objects import objects_of
from vsched.controllers.vcjobs.plugins import KeyPair
from vsched.controllers.vcjobs.pods import pod_of

TWO = {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]}
TASKS = (task("master", 1), task("data-worker", 2, spec=TWO))
KEYS = KeyPair("private", "public\n")


def spec(index: int = 1, **plugins: tuple[str, ...]) -> dict[str, Any]:
    """The spec of a pod of the second task."""
    job = vcjob(*TASKS, plugins=plugins)
    return dict(pod_of(job, job.tasks[1], index)["spec"])


def made(kind: str, **plugins: tuple[str, ...]) -> list[dict[str, Any]]:
    """The objects of a kind that the job needs."""
    return [body for body in objects_of(vcjob(*TASKS, plugins=plugins), KEYS) if body["kind"] == kind]


def test_every_container_is_told_its_index() -> None:
    found = spec(1, env=())
    told = [{"name": "VK_TASK_INDEX", "value": "1"}, {"name": "VC_TASK_INDEX", "value": "1"}]
    assert [each["env"] for each in (*found["containers"], *found["initContainers"])] == [told] * 3


def test_pods_have_a_host_name_below_the_job() -> None:
    found = spec(1, svc=())
    assert (found["hostname"], found["subdomain"]) == ("train-data-worker-1", "train")


def test_the_host_name_of_a_template_stays() -> None:
    job = vcjob(task("w", 2, spec={"hostname": "fixed", "subdomain": "below"}), plugins={"svc": ()})
    found = pod_of(job, job.tasks[0], 1)["spec"]
    assert (found["hostname"], found["subdomain"]) == ("fixed", "below")
    (hosts,) = (body for body in objects_of(job) if body["kind"] == "ConfigMap")
    assert hosts["data"] == {"w.host": "fixed.below", "VC_W_HOSTS": "fixed.below", "VC_W_NUM": "1"}


def test_hosts_are_files_and_variables_of_every_container() -> None:
    found = spec(1, svc=())
    assert found["volumes"] == [{"name": "train-svc", "configMap": {"name": "train-svc"}}]
    names = ["VC_MASTER_HOSTS", "VC_MASTER_NUM", "VC_DATA_WORKER_HOSTS", "VC_DATA_WORKER_NUM"]
    for container in (*found["containers"], *found["initContainers"]):
        assert container["volumeMounts"] == [{"name": "train-svc", "mountPath": "/etc/volcano"}]
        keys = [each["valueFrom"]["configMapKeyRef"] for each in container["env"]]
        assert [each["name"] for each in container["env"]] == names
        assert keys == [{"name": "train-svc", "key": name} for name in names]


def test_hosts_need_not_be_variables() -> None:
    found = spec(1, svc=("--inject-hosts-env=false",))
    assert "env" not in found["containers"][0]
    assert found["containers"][0]["volumeMounts"]


def test_the_config_map_lists_the_hosts_of_each_task() -> None:
    (hosts,) = made("ConfigMap", svc=())
    workers = ("train-data-worker-0.train", "train-data-worker-1.train")
    assert hosts["data"] == {
        "master.host": "train-master-0.train",
        "VC_MASTER_HOSTS": "train-master-0.train",
        "VC_MASTER_NUM": "1",
        "data_worker.host": "\n".join(workers),
        "VC_DATA_WORKER_HOSTS": ",".join(workers),
        "VC_DATA_WORKER_NUM": "2",
    }


@pytest.mark.parametrize(
    ("argument", "published"),
    [
        pytest.param((), False, id="as a rule, names of pods resolve once they are ready"),
        pytest.param(("--publish-not-ready-addresses=true",), True, id="on demand, before that"),
    ],
)
def test_the_service_is_headless_and_selects_the_pods_of_the_job(argument: tuple[str, ...], published: bool) -> None:
    (service,) = made("Service", svc=argument)
    assert service["metadata"]["name"] == "train"
    wanted = {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "ml"}
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == wanted
    assert service["spec"]["publishNotReadyAddresses"] is published


def test_only_pods_of_the_job_are_let_in() -> None:
    (policy,) = made("NetworkPolicy", svc=())
    own = {"matchLabels": {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "ml"}}
    ingress = [{"from": [{"podSelector": own}]}]
    assert policy["spec"] == {"podSelector": own, "ingress": ingress, "policyTypes": ["Ingress"]}


def test_keys_are_mounted_by_every_container() -> None:
    found = spec(0, ssh=())
    (volume,) = found["volumes"]
    paths = {each["path"]: each["key"] for each in volume["secret"]["items"]}
    assert volume["secret"]["secretName"] == "train-ssh"
    assert volume["secret"]["defaultMode"] == 0o600
    assert paths == {f".ssh/{name}": name for name in ("id_rsa", "id_rsa.pub", "authorized_keys", "config")}
    for container in (*found["containers"], *found["initContainers"]):
        assert container["volumeMounts"] == [{"name": "train-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}]


def test_keys_can_be_mounted_elsewhere() -> None:
    found = spec(0, ssh=("--ssh-key-file-path=/home/me/.ssh",))
    assert found["containers"][0]["volumeMounts"][0]["mountPath"] == "/home/me/.ssh"


@pytest.mark.parametrize(
    ("arguments", "private", "public"),
    [
        pytest.param((), "private", "public\n", id="a new pair"),
        pytest.param(("--ssh-private-key=mine", "--ssh-public-key=ours"), "mine", "ours", id="the user's own"),
    ],
)
def test_the_secret_has_the_keys_and_knows_the_hosts(arguments: tuple[str, ...], private: str, public: str) -> None:
    (secret,) = made("Secret", ssh=arguments)
    texts = {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}
    assert (texts["id_rsa"], texts["id_rsa.pub"], texts["authorized_keys"]) == (private, public, public)
    assert texts["config"] == (
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        "Host train-master-0\n  HostName train-master-0.train\n"
        "Host train-data-worker-0\n  HostName train-data-worker-0.train\n"
        "Host train-data-worker-1\n  HostName train-data-worker-1.train\n"
    )
