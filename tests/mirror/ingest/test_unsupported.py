"""What of an object is not built: whatever is asked for makes its pods wait, and what is wished for is told.

Every field that an object may have is named here, with what becomes of it.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec
import pytest
import yaml

from tests.support import builders as make
from vsched.api.objects import PodGroupSpec, QueueSpec
from vsched.api.pods import Container, PodSpec
from vsched.apimachinery.meta.schema import schema_table
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.ingest.queues import queue_of
from vsched.mirror.ingest.unsupported import NODE_BOUND
from vsched.mirror.ingest.words import fields as words
from vsched.mirror.ingest.words import groups as groups_words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.pods.ignorable import IGNORABLE
from vsched.model.pods.task import Task

DONE, NO_MATTER, WAITS, WISH = "done", "of no matter to schedulers", "makes pods wait", "is told to have no effect"
PVC = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"


def of_pod(fields: make.Fields, *ignored: str) -> tuple[Task, list[str]]:
    """The task that a pod is, and what is remarked on it."""
    reader = PodReader(ResourceAxis(), frozenset({"volcano"}), ignored=frozenset(ignored))
    facts = reader.read(make.decode(fields))
    assert facts is not None
    return facts.task, list(facts.remarks)


def of_group(**fields: Any) -> tuple[str, list[str]]:
    """What a PodGroup asks for in vain, and what is remarked on it."""
    remarks: list[str] = []
    found = make.decode(make.pod_group(**fields))
    spec = job_spec_of(found, ResourceAxis(), "default", remarks)
    assert spec.wishes == tuple(remarks)
    return spec.unsupported, remarks


def with_volumes(*volumes: make.Fields) -> make.Fields:
    return make.pod(spec={"volumes": [{"name": "tmp", "emptyDir": {}}, *volumes]})


def asking(**amounts: str) -> make.Fields:
    requests = {name.replace("__", "/").replace("_", "-"): amount for name, amount in amounts.items()}
    return make.pod(spec={"containers": [{"name": "main", "resources": {"requests": requests}}]})


POD_ASKS = [
    *(
        pytest.param(
            with_volumes({"name": "d", kind: {}}), f"spec.volumes[1].{kind}", "volumes", id=f"a volume: {kind}"
        )
        for kind in NODE_BOUND
    ),
    pytest.param(
        make.pod(spec={"workloadRef": {"name": "w", "podGroup": "g"}}),
        "spec.workloadRef",
        "scheduling-groups",
        id="the PodGroups of Kubernetes 1.35",
    ),
]


@pytest.mark.parametrize(("fields", "path", "word"), POD_ASKS)
def test_a_pod_waits_that_asks_for_what_is_not_built(fields: make.Fields, path: str, word: str) -> None:
    task, _ = of_pod(fields)

    assert task.unsupported == f"{path}: not supported yet"
    assert task.gated
    assert not task.at_gate


@pytest.mark.parametrize(("fields", "path", "word"), POD_ASKS)
def test_what_is_to_be_ignored_is_ignored(fields: make.Fields, path: str, word: str) -> None:
    task, remarks = of_pod(fields, word)
    rest = [other for other in IGNORABLE if other != word]

    assert (task.unsupported, task.gated, remarks) == ("", False, [])
    assert of_pod(fields, *rest)[0].unsupported.startswith(path)


@pytest.mark.parametrize(("fields", "path", "word"), POD_ASKS)
def test_a_pod_that_has_a_node_stays_as_it_is(fields: make.Fields, path: str, word: str) -> None:
    running = make.merged(fields, {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})
    task, remarks = of_pod(running)

    assert (task.gated, remarks) == (False, [])
    assert task.unsupported.startswith(path), "another one in its place would wait"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(make.pod(), id="nothing"),
        pytest.param(make.pod(spec={"volumes": []}), id="no volumes"),
        pytest.param(make.pod(spec={"volumes": None, "resourceClaims": None, "schedulingGroup": None}), id="nulls"),
        pytest.param(make.pod(spec={"resourceClaims": [], "schedulingGroup": {}}), id="emptiness"),
        pytest.param(with_volumes({"name": "rbd", "configMap": {"name": "cinder"}}), id="names"),
        pytest.param(with_volumes(PVC), id="a claim"),
        pytest.param(
            with_volumes({"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}),
            id="a claim that is made for the pod",
        ),
        pytest.param(
            make.pod(spec={"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}),
            id="a resource claim",
        ),
        pytest.param(with_volumes({"name": "d", "rbd": None, "secret": {}}), id="a null disk"),
        pytest.param(with_volumes({"name": "p", "projected": {"sources": [{"rbd": {}}]}}), id="deeper down"),
        pytest.param(asking(nvidia__com="1"), id="a resource of another name"),
        pytest.param(asking(**{"nvidia.com__gpu": "1"}), id="whole GPUs"),
        pytest.param(asking(**{"volcano.sh__vgpu-number": "1"}), id="parts of GPUs"),
        pytest.param(asking(**{"deviceclass.resource.kubernetes.io__gpu": "1"}), id="devices of a class"),
    ],
)
def test_what_asks_for_nothing_of_that_does_not_wait(fields: make.Fields) -> None:
    task, remarks = of_pod(fields)

    assert (task.unsupported, task.gated, remarks) == ("", False, [])


def test_several_fields_are_named_and_the_rest_is_counted() -> None:
    fields = with_volumes(*({"name": f"v{at}", "rbd": {}} for at in range(3)))
    fields["spec"]["workloadRef"] = {"name": "w", "podGroup": "g"}

    assert of_pod(fields)[0].unsupported == (
        words.not_supported_yet("spec.volumes[1].rbd, spec.volumes[2].rbd, spec.volumes[3].rbd", " and 1 more")
    )
    assert of_pod(fields, "volumes")[0].unsupported.startswith("spec.workloadRef: ")


def test_the_gate_of_a_queue_stays_closed_for_a_pod_that_waits() -> None:
    gate = "scheduling.volcano.sh/queue-allocation-gate"
    fields = make.pod(metadata={"annotations": {gate: "true"}}, spec={"schedulingGates": [{"name": gate}]})
    waiting = make.merged(fields, {"spec": {"volumes": [{"name": "d", "rbd": {}}]}})

    assert of_pod(fields)[0].awaits_queue
    assert not of_pod(waiting)[0].awaits_queue


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param(
            make.pod(spec={"tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Gt"}]}),
            "spec.tolerations[1]",
            id="a taint that is tolerated up to a number",
        ),
    ],
)
def test_what_a_pod_only_wishes_for_is_told(fields: make.Fields, path: str) -> None:
    task, remarks = of_pod(fields)

    assert (task.unsupported, remarks) == ("", [f"{path}: {groups_words.NO_EFFECT}"])


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param(
            {"metadata": {"annotations": {"volcano.sh/forward-cluster": "west"}}},
            "metadata.annotations[volcano.sh/forward-cluster]",
            id="another cluster",
        ),
    ],
)
def test_what_a_group_only_wishes_for_is_told(fields: make.Fields, path: str) -> None:
    asked, remarks = of_group(**fields)

    assert (asked, remarks) == ("", [f"{path}: {groups_words.NO_EFFECT}"])


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        pytest.param({"dequeueStrategy": "fifo"}, ["spec.dequeueStrategy"], id="one job after the other"),
        pytest.param({"dequeueStrategy": "traverse"}, [], id="what is done anyway"),
        pytest.param({"extendClusters": [{"name": "c"}]}, ["spec.extendClusters"], id="other clusters"),
        pytest.param({"type": "shared"}, ["spec.type"], id="a type"),
        pytest.param(
            {
                "capability": {"cpu": 1, "deviceclass/gpu": 2},
                "deserved": {"memory.deviceclass/gpu": "1Gi", "my-deviceclass/gpu": 1},
                "guarantee": {"resource": {"deviceclass/gpu": 1}},
            },
            ["spec.deserved[memory.deviceclass/gpu]", "spec.guarantee.resource[deviceclass/gpu]"],
            id="devices that it deserves or is guaranteed: only its capability limits them",
        ),
    ],
)
def test_what_a_queue_wishes_for_is_told(spec: make.Fields, paths: list[str]) -> None:
    remarks: list[str] = []
    queue_of(make.decode(make.queue(spec=spec)), ResourceAxis(), False, remarks)

    assert remarks == [f"{path}: {groups_words.NO_EFFECT}" for path in paths]


# -- every field there is -------------------------------------------------------------------------------------------


def _all(what: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), what)


FIELDS: dict[str, dict[str, str]] = {
    "core/v1.PodSpec": {
        **_all(
            DONE,
            "containers initContainers activeDeadlineSeconds restartPolicy nodeSelector nodeName hostNetwork affinity "
            "schedulerName tolerations priorityClassName priority preemptionPolicy overhead topologySpreadConstraints "
            "schedulingGates resources resourceClaims schedulingGroup evictionResponders",
        ),
        **_all(WAITS, "volumes"),
        # The API server adds the overhead and the node selector of a runtime class; kubelets see to the rest.
        **_all(
            NO_MATTER,
            "runtimeClassName os terminationGracePeriodSeconds dnsPolicy serviceAccountName serviceAccount hostPID "
            "hostIPC securityContext imagePullSecrets hostname subdomain automountServiceAccountToken hostAliases "
            "dnsConfig shareProcessNamespace readinessGates enableServiceLinks ephemeralContainers setHostnameAsFQDN "
            "hostUsers hostnameOverride",
        ),
    },
    "core/v1.Volume": {
        "name": NO_MATTER,
        **_all(DONE, "persistentVolumeClaim ephemeral"),
        **dict.fromkeys(NODE_BOUND, WAITS),
        **_all(
            NO_MATTER,
            "hostPath emptyDir gitRepo secret nfs glusterfs flexVolume cephfs flocker downwardAPI fc azureFile "
            "configMap quobyte photonPersistentDisk scaleIO projected storageos csi image",
        ),
    },
    "core/v1.Container": {
        **_all(DONE, "name image resources ports restartPolicy"),
        **_all(
            NO_MATTER,
            "command args workingDir env volumeMounts livenessProbe readinessProbe lifecycle terminationMessagePath "
            "imagePullPolicy securityContext stdin stdinOnce tty envFrom terminationMessagePolicy volumeDevices "
            "startupProbe resizePolicy restartPolicyRules",
        ),
    },
    # Which of the pod's claims a container uses; all claims of the pod are served.
    "core/v1.ResourceRequirements": {"limits": DONE, "requests": DONE, "claims": NO_MATTER},
    "core/v1.TopologySpreadConstraint": _all(
        DONE,
        "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy nodeTaintsPolicy "
        "matchLabelKeys",
    ),
    "core/v1.PodAffinityTerm": _all(
        DONE, "labelSelector namespaces topologyKey namespaceSelector matchLabelKeys mismatchLabelKeys"
    ),
    "core/v1.Toleration": {**_all(DONE, "key operator value effect"), "tolerationSeconds": NO_MATTER},
    "core/v1.ContainerPort": {
        **_all(DONE, "hostPort containerPort protocol hostIP"),
        "name": NO_MATTER,
    },
}
CUSTOM_FIELDS: dict[str, dict[str, str]] = {
    "podgroups": {
        **_all(DONE, "minMember minTaskMember queue priorityClassName minResources"),
        "networkTopology": DONE,
        "subGroupPolicy": DONE,
    },
    "queues": {
        **_all(DONE, "weight capability deserved guarantee reclaimable priority priorityClassName parent affinity"),
        "type": WISH,
        "dequeueStrategy": WISH,
        "extendClusters": WISH,
    },
}
"""By definition; what is ``DONE`` is read by ``wire_objects``, and tested where it is used."""


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_of_pods_is_accounted_for(name: str) -> None:
    assert FIELDS[name].keys() == schema_table()[name].fields.keys()


@pytest.mark.parametrize("name", CUSTOM_FIELDS)
def test_every_field_of_groups_and_queues_is_accounted_for(name: str) -> None:
    definitions = resources.files("vsched.apimachinery.objects.definitions")
    text = definitions.joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    (definition,) = yaml.safe_load_all(text)
    (version,) = (each for each in definition["spec"]["versions"] if each["storage"])
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]

    assert CUSTOM_FIELDS[name].keys() == spec.keys()


@pytest.mark.parametrize(
    ("struct", "fields", "besides"),
    [
        pytest.param(PodSpec, FIELDS["core/v1.PodSpec"], {"workloadRef"}, id="of a pod"),
        pytest.param(Container, FIELDS["core/v1.Container"], set(), id="of a container"),
        pytest.param(PodGroupSpec, CUSTOM_FIELDS["podgroups"], set(), id="of a PodGroup"),
        pytest.param(QueueSpec, CUSTOM_FIELDS["queues"], set(), id="of a Queue"),
    ],
)
def test_what_matters_is_read(struct: type[msgspec.Struct], fields: dict[str, str], besides: set[str]) -> None:
    matters = {name for name, what in fields.items() if what != NO_MATTER}

    assert set(struct.__struct_encode_fields__) == matters | besides


def _samples(params: list[Any]) -> set[str]:
    paths = (str(param.values[1]) for param in params)
    return {path.removeprefix("spec.").split("[")[0] for path in paths if path.startswith("spec.")}


def test_whatever_makes_pods_wait_is_shown_to_do_so() -> None:
    waiting = {name for name, what in FIELDS["core/v1.PodSpec"].items() if what == WAITS}

    assert _samples(POD_ASKS) == waiting | {"workloadRef"}
    assert WAITS not in CUSTOM_FIELDS["podgroups"].values()
    assert {word for param in POD_ASKS for word in param.values[2:]} == IGNORABLE.keys() - {"priority-classes"}
