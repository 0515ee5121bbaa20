"""The defaults that the webhook writes into vcjobs, and that they are those by which the controller goes."""

from __future__ import annotations

from typing import Any

import jsonpatch
import msgspec
import pytest

from tests.controllers.vcjobs.manifests import manifest, worker
from vsched.api.batch import VolcanoJob
from vsched.controllers.vcjobs.defaults import Default, defaults_of, with_defaults
from vsched.controllers.vcjobs.read import job_of

Obj = dict[str, Any]


def wired(written: Obj) -> VolcanoJob:
    return msgspec.json.decode(msgspec.json.encode(written), type=VolcanoJob)


def patched(written: Obj) -> Obj:
    """The spec with the patch, as the API server applies it."""
    operations = [default.as_operation() for default in defaults_of(wired(written), "vsched")]
    found: Obj = jsonpatch.apply_patch(written, operations)
    return found["spec"]


OF_JOB = {"queue": "default", "schedulerName": "vsched", "maxRetry": 3}


@pytest.mark.parametrize(
    ("written", "added", "of_tasks"),
    [
        pytest.param(
            manifest(worker(replicas=3)),
            {**OF_JOB, "minAvailable": 3},
            [{"minAvailable": 3, "maxRetry": 3}],
            id="queue, schedulerName, maxRetry and minAvailable of the job and of its task",
        ),
        pytest.param(
            manifest({**worker(), "name": ""}, worker("b")),
            {**OF_JOB, "minAvailable": 2},
            [{"name": "default0", "minAvailable": 1, "maxRetry": 3}, {"minAvailable": 1, "maxRetry": 3}],
            id="a task is called after its position",
        ),
        pytest.param(
            manifest(worker(replicas=3, minAvailable=1, maxRetry=0), worker("b", minAvailable=0), maxRetry=0),
            {**OF_JOB, "minAvailable": 1},
            [{"maxRetry": 3}, {"maxRetry": 3}],
            id="a task's minAvailable of zero stays, a maxRetry of zero stands for the default",
        ),
        pytest.param(
            manifest(
                worker(replicas=6, partitionPolicy={"totalPartitions": 3, "partitionSize": 2, "minPartitions": 2})
            ),
            {**OF_JOB, "minAvailable": 4},
            [{"minAvailable": 4, "maxRetry": 3}],
            id="minAvailable is that of the partitions where they have a minimum",
        ),
        pytest.param(
            manifest(worker(), plugins={"mpi": ["--master=worker"]}),
            {**OF_JOB, "minAvailable": 1, "plugins": {"mpi": ["--master=worker"], "svc": [], "ssh": []}},
            [{"minAvailable": 1, "maxRetry": 3}],
            id="plugins pull others in",
        ),
    ],
)
def test_what_is_added(written: Obj, added: Obj, of_tasks: list[Obj]) -> None:
    tasks = [task | more for task, more in zip(written["spec"]["tasks"], of_tasks, strict=True)]
    assert patched(written) == {**written["spec"], **added, "tasks": tasks}


def test_pods_in_the_network_of_their_node_resolve_the_names_of_the_cluster() -> None:
    containers = [{"name": "c", "image": "busybox"}]
    template = {"spec": {"hostNetwork": True, "containers": containers}}
    (task,) = patched(manifest(worker(template=template)))["tasks"]
    assert task["template"]["spec"] == {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "containers": containers,
    }


WHOLE = {"queue": "q", "schedulerName": "other", "maxRetry": 1, "minAvailable": 1, "plugins": {"svc": ["--a"]}}


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(manifest(worker(minAvailable=1, maxRetry=-1), **WHOLE), id="all is there"),
        pytest.param(manifest(), id="a job without tasks, which is refused"),
        pytest.param({"metadata": {"name": "a", "namespace": "b"}}, id="a job without a spec, which is refused"),
    ],
)
def test_nothing_is_added(written: Obj) -> None:
    assert defaults_of(wired(written), "vsched") == []


def test_paths_are_escaped_as_json_pointers_are() -> None:
    assert Default(("spec", "plugins", "a/b~c"), []).as_operation()["path"] == "/spec/plugins/a~1b~0c"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(manifest(worker(replicas=2), worker("b", replicas=0)), id="two tasks"),
        pytest.param(
            manifest({**worker(), "name": ""}, plugins={"pytorch": ["--port=1"]}, minAvailable=0), id="a plugin"
        ),
        pytest.param(
            manifest(worker(template={"spec": {"hostNetwork": True, "containers": [{"name": "c"}]}})), id="host network"
        ),
    ],
)
def test_a_job_is_the_same_with_its_defaults_and_without(written: Obj) -> None:
    whole = with_defaults(written, defaults_of(wired(written), "vsched"))
    assert job_of(wired(whole)) == job_of(wired(written), "vsched")
    assert defaults_of(wired(whole), "vsched") == []
    assert whole["spec"] == patched(written)
