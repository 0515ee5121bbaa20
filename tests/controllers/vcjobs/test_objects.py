"""Which objects a vcjob has besides its pods and its PodGroup, and when they go."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_public_key

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.keys import new_keys
from vsched.controllers.vcjobs.objects import (
    content_key,
    controlled_resources,
    following_objects,
    names_of_plugin_objects,
    objects_of,
)
from vsched.controllers.vcjobs.plugins import KeyPair, needs_keys
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob, VcjobVolume

KEYS = KeyPair("private", "public")


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param({}, set(), id="none without plugins"),
        pytest.param({"env": ()}, set(), id="env needs none"),
        pytest.param(
            {"svc": ()}, {("ConfigMap", "train-svc"), ("Service", "train"), ("NetworkPolicy", "train")}, id="svc"
        ),
        pytest.param(
            {"pytorch": (), "svc": ("--disable-network-policy",)},
            {("ConfigMap", "train-svc"), ("Service", "train")},
            id="svc without a NetworkPolicy",
        ),
        pytest.param(
            {"mpi": ()},
            {("ConfigMap", "train-svc"), ("Service", "train"), ("NetworkPolicy", "train"), ("Secret", "train-ssh")},
            id="mpi pulls in svc and ssh",
        ),
        pytest.param(
            {"ray": (), "svc": ("--disable-network-policy=true",)},
            {("ConfigMap", "train-svc"), ("Service", "train"), ("Service", "train-head-svc")},
            id="ray has a Service for its head",
        ),
    ],
)
def test_plugins_need_objects_by_fixed_names(
    plugins: dict[str, tuple[str, ...]], expected: set[tuple[str, str]]
) -> None:
    job = vcjob(task("master"), plugins=plugins)
    made = objects_of(job, KEYS)
    assert {(body["kind"], body["metadata"]["name"]) for body in made} == expected
    assert set(names_of_plugin_objects(job)) == expected
    assert all(body["metadata"]["ownerReferences"][0]["uid"] == job.uid for body in made)


def test_claims_stay_when_the_objects_of_plugins_go() -> None:
    job = vcjob(plugins={"svc": ()}, volumes=(VcjobVolume("/d", claim={}),))
    kinds = [body["kind"] for body in objects_of(job)]
    assert kinds == ["PersistentVolumeClaim", "ConfigMap", "Service", "NetworkPolicy"]
    assert "PersistentVolumeClaim" not in {kind for kind, _ in names_of_plugin_objects(job)}


def test_the_hosts_follow_the_replicas_of_a_job() -> None:
    (hosts,) = following_objects(vcjob(task("worker", 3), plugins={"svc": (), "ssh": ()}))
    assert hosts["data"]["VC_WORKER_NUM"] == "3"


@pytest.mark.parametrize(
    ("after", "same"),
    [
        pytest.param({}, True, id="the same job"),
        pytest.param({"tasks": (task("worker", 3),)}, False, id="more pods"),
        pytest.param({"tasks": (task("server", 2),)}, False, id="another task"),
        pytest.param({"tasks": (task("worker", 2, spec={"hostname": "h"}),)}, False, id="another host name"),
        pytest.param({"plugins": {"svc": (), "ssh": ()}}, False, id="another plugin"),
        pytest.param({"volumes": (VcjobVolume("/d", "c"),)}, False, id="another volume"),
        pytest.param({"tasks": (task("worker", 2, cpu="9"),)}, True, id="another request, which no object names"),
    ],
)
def test_the_key_of_the_content_changes_with_the_objects(after: dict[str, Any], same: bool) -> None:
    def job(tasks: tuple[TaskSpec, ...] = (task("worker", 2),), **fields: Any) -> VcJob:
        return vcjob(*tasks, **{"plugins": {"svc": ()}, **fields})

    assert (content_key(job()) == content_key(job(**after))) is same
    if same:
        assert following_objects(job()) == following_objects(job(**after))


def test_keys_are_made_only_where_ssh_is_given_none() -> None:
    assert needs_keys(vcjob(plugins={"mpi": ()}))
    assert not needs_keys(vcjob(plugins={"svc": ()}))
    assert not needs_keys(vcjob(plugins={"ssh": ("--ssh-private-key=k", "--ssh-public-key=p")}))
    with pytest.raises(ValueError, match="train-ssh"):
        objects_of(vcjob(plugins={"ssh": ()}))


def test_new_keys_are_a_pair_that_differs_each_time() -> None:
    first, second = new_keys(), new_keys()
    private = load_pem_private_key(first.private.encode(), None)
    assert private.public_key() == load_ssh_public_key(first.public.encode())
    assert first.private.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert first.public.startswith("ssh-rsa ")
    assert first.public.endswith("\n")
    assert first != second


def test_the_status_names_what_plugins_and_volumes_have_made() -> None:
    job = vcjob(plugins={"pytorch": (), "hcclrank": ()}, volumes=(VcjobVolume("/d", "data"),))
    assert controlled_resources(job) == {
        "plugin-svc": "svc",
        "plugin-pytorch": "pytorch",
        "volume-pvc-data": "data",
    }
