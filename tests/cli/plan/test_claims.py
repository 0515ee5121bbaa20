"""Claims among the manifests of a plan: those that controllers make of pods and workloads are there."""

from __future__ import annotations

from tests.cli.plan.test_workloads import workload
from tests.support.builders import Fields, pod
from tests.support.devices import claim_template, pod_claims, request, resource_claim
from tests.support.volumes import claim, ephemeral_volume, storage_class
from vsched.cli.plan.claims import Found, with_claims
from vsched.cli.plan.workloads import decode_with_pods
from vsched.mirror.wire.manifests import Origin


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
        one.metadata.name: one.spec.resources.requests["storage"]  # type: ignore[attr-defined]
        for one in manifests.objects["PersistentVolumeClaim"]
    }
    assert sizes == {"data-w-0": "7Gi", "data-w-1": "3Gi"}
    assert len(manifests.objects["Pod"]) == 2


def test_templates_are_no_objects_that_a_plan_leaves_out() -> None:
    manifests = decode_with_pods(found(claim_template("big"), {"kind": "Moon", "metadata": {"name": "m"}}))
    assert manifests.ignored == {"Moon": 1}
