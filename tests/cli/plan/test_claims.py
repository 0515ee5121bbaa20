"""Claims among the manifests of a plan: those that controllers make of pods and workloads are there."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from click.testing import CliRunner

from tests.cli.plan.workloads import workload
from tests.support.builders import Fields, node, pod
from tests.support.devices import claim_template, device_class, pod_claims, request, resource_claim, resource_slice
from tests.support.plans import NOW, OUR_NAMES, mirror
from tests.support.volumes import claim, ephemeral_volume, storage_class
from vsched.api.manifests import Origin
from vsched.api.volumes import PersistentVolumeClaim
from vsched.cli import cli
from vsched.cli.plan.claims import Found, with_claims
from vsched.cli.plan.submit import submit_of
from vsched.cli.plan.trial import PlanTrial
from vsched.cli.plan.words import objects as objects_words
from vsched.cli.plan.workloads import decode_with_pods
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.frozen import freeze


def found(*manifests: Fields) -> list[Found]:
    return [(Origin("file", f"document {number}"), manifest) for number, manifest in enumerate(manifests)]


def made(*manifests: Fields) -> list[Fields]:
    """What is added to the manifests."""
    given = [called(manifest) for manifest in manifests]
    return [one for _, one in with_claims(found(*manifests)) if called(one) not in given]


def called(manifest: Fields) -> tuple[str, str]:
    return manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def test_an_ephemeral_volume_has_a_claim_that_its_pod_owns() -> None:
    owner = pod("p", spec={"volumes": [ephemeral_volume("scratch", "5Gi")]})
    [one] = made(owner)
    assert (one["kind"], one["metadata"]["name"]) == ("PersistentVolumeClaim", "p-scratch")
    assert one["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
    assert one["spec"]["resources"]["requests"]["storage"] == "5Gi"


def test_a_claim_that_is_there_is_not_made_again() -> None:
    volume = {"volumes": [ephemeral_volume("scratch")]}
    assert made(pod("p", spec=volume), claim("p-scratch")) == []
    assert len(made(pod("p", spec=volume), claim("p-scratch", namespace="other"))) == 1


def test_an_entry_with_a_template_has_a_claim_with_its_spec_and_the_pod_names_it() -> None:
    template = claim_template("big", request("gpus", 2))
    one, again = (
        with_claims(found(template, pod(name, spec={"resourceClaims": pod_claims(gpu="template/big")})))
        for name in ("p", "p")
    )
    assert one == again
    [_, (_, named), (_, made_claim)] = one
    assert made_claim["spec"] == template["spec"]["spec"]
    assert made_claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] == "gpu"
    assert made_claim["metadata"]["ownerReferences"][0]["uid"] == named["metadata"]["uid"]
    assert named["status"]["resourceClaimStatuses"] == [
        {"name": "gpu", "resourceClaimName": made_claim["metadata"]["name"]}
    ]


def test_claims_of_pods_of_a_cluster_stay_as_they_are() -> None:
    entry = {"resourceClaims": pod_claims(gpu="template/big")}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "there"}]}
    objects = found(claim_template("big"), pod("p", spec=entry, status=status), resource_claim("there"))
    assert with_claims(objects) == objects


def test_a_pod_that_has_ended_gets_no_claims() -> None:
    entry = {"resourceClaims": pod_claims(gpu="template/big")}
    assert made(claim_template("big"), pod("p", spec=entry, status={"phase": "Succeeded"})) == []


def test_without_its_template_a_claim_is_not_made() -> None:
    assert made(pod("p", spec={"resourceClaims": pod_claims(gpu="template/gone")})) == []


def test_manifests_without_pods_that_need_claims_made_are_the_same_list() -> None:
    objects = found(pod("p"), claim("data"), pod("q", spec={"resourceClaims": pod_claims(gpu="mine")}))
    assert with_claims(objects) == objects


def test_a_claim_without_a_class_gets_the_default_one_unless_it_wants_none() -> None:
    default = {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    plain, bound, none = claim("a"), claim("b", volume="pv"), claim("c")
    for one in (plain, bound):
        del one["spec"]["storageClassName"]
    none["spec"]["storageClassName"] = ""
    objects = found(storage_class("fast", **default), storage_class("slow"), plain, bound, none)
    classes = [one["spec"].get("storageClassName") for _, one in with_claims(objects) if "spec" in one]
    assert classes == ["fast", None, ""]
    assert with_claims(objects[1:]) == objects[1:]


def test_a_stateful_set_has_its_claims_and_one_that_is_there_stays() -> None:
    templates = [{"metadata": {"name": "data"}, "spec": claim("data", "3Gi")["spec"]}]
    there = claim("data-w-0", "7Gi", namespace="x")
    several = workload("StatefulSet", replicas=2, serviceName="w", volumeClaimTemplates=templates)
    manifests = decode_with_pods(found(there, several))
    sizes = {
        one.metadata.name: one.spec.resources.requests
        for one in manifests.objects["PersistentVolumeClaim"]
        if isinstance(one, PersistentVolumeClaim)
    }
    assert sizes == {"data-w-0": {"storage": "7Gi"}, "data-w-1": {"storage": "3Gi"}}
    assert len(manifests.objects["Pod"]) == 2


def test_templates_are_no_objects_that_a_plan_leaves_out() -> None:
    manifests = decode_with_pods(found(claim_template("big"), {"kind": "Moon", "metadata": {"name": "m"}}))
    assert manifests.ignored == {"Moon": 1}


# -- plans of manifests

CLUSTER = [
    node("n1"),
    node("n2"),
    storage_class("made"),
    storage_class("now", waits=False),
    device_class(),
    resource_slice("n1", 2),
]


def plan(*manifests: Fields, output: str = "json", cycles: int = 1) -> str:
    text = yaml.safe_dump_all(manifests)
    arguments = ["plan", "-f", "-", "-o", output, "--cycles", str(cycles)]
    result = CliRunner().invoke(cli, arguments, input=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_plan_says_which_devices_a_pod_gets() -> None:
    template = claim_template("two", request("gpus", 2))
    pods = [pod(name, spec={"resourceClaims": pod_claims(gpu="template/two")}) for name in ("a", "b")]
    found = json.loads(plan(*CLUSTER, template, *pods))
    [bind] = found["cycles"][0]["binds"]
    assert (bind["pod"], bind["node"]) == ("ns/a", "n1")
    [devices] = bind["claims"]["devices"].values()
    assert devices == ["gpu.example.com/n1/gpu-0", "gpu.example.com/n1/gpu-1"]
    assert "cannot allocate all claims" in found["unschedulable"]["ns/b"]["message"]
    told = plan(*CLUSTER, template, *pods, output="text")
    assert "devices n1/gpu-0 and 1 more" in told


def test_devices_that_a_cycle_gave_away_are_taken_in_the_next() -> None:
    one = claim_template("one", request("gpus", 1))
    pods = [pod(name, spec={"resourceClaims": pod_claims(gpu="template/one")}) for name in "abc"]
    found = json.loads(plan(*CLUSTER, one, *pods, cycles=3))
    devices = [
        each for cycle in found["cycles"] for bind in cycle["binds"] for each in bind["claims"]["devices"].values()
    ]
    assert sorted(devices) == [["gpu.example.com/n1/gpu-0"], ["gpu.example.com/n1/gpu-1"]]
    assert list(found["unschedulable"]) == ["ns/c"]


# -- what is submitted to a cluster that runs

RUNNABLE = {"containers": [{"name": "main", "image": "busybox"}]}
"""What an API server accepts."""


def submitted(folder: Path, *manifests: Fields) -> PlanTrial:
    path = folder / "new.yaml"
    path.write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
    snapshot = freeze(mirror([*CLUSTER, claim("there", storage_class="made")]).snapshot(NOW))
    trial = PlanTrial(ClusterEditor(snapshot, OUR_NAMES))
    submit_of(str(path)).apply(trial)
    return trial


def test_claims_of_submitted_pods_are_made(tmp_path: Path) -> None:
    entry = {**RUNNABLE, "resourceClaims": pod_claims(gpu="template/two"), "volumes": [ephemeral_volume("scratch")]}
    template = claim_template("two", request("gpus", 2), namespace="default")
    trial = submitted(tmp_path, template, pod("p", namespace="default", spec=entry))
    found = trial.mirror.snapshot(NOW).claims
    [made] = found.devices.claims.values()
    assert made.key.startswith("default/p-gpu-")
    assert made.spec.requests[0][0].count == 2
    assert found.volumes.claims["default/p-scratch"].owner == made.owner != ""
    [task] = [task for job in trial.mirror.snapshot(NOW).jobs.values() for task in job.tasks.values()]
    assert task.uid == made.owner
    assert trial.ignored == {}
    assert not [note for note in trial.notes if "Template" in note]


def test_what_is_not_known_of_submitted_claims_is_said(tmp_path: Path) -> None:
    unnamed = claim("new")
    del unnamed["spec"]["storageClassName"]
    gone = pod("p", spec={**RUNNABLE, "resourceClaims": pod_claims(gpu="template/gone")})
    notes = "\n".join(submitted(tmp_path, unnamed, gone, claim("there", storage_class="made")).notes)
    assert objects_words.no_template("", "gone") in notes
    assert "PersistentVolumeClaim ns/new names no storage class" in notes
    assert objects_words.stays("PersistentVolumeClaim", "there") in notes


def test_a_submitted_claim_that_does_not_wait_for_a_pod_is_bound(tmp_path: Path) -> None:
    found = submitted(tmp_path, claim("one", storage_class="now"), claim("two", storage_class="made"))
    claims = found.mirror.snapshot(NOW).claims.volumes.claims
    assert (claims["ns/one"].bound, claims["ns/two"].bound) == (True, False)
