"""Workloads among manifests: a plan has the pods that their controllers would make of them.

A workload that was read from a cluster (it has a uid) is left as it is: its pods are in the cluster. Where the input
has none of them, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vsched.cli.plan.claims import TEMPLATE, VOLUME_CLAIM, with_claims
from vsched.cli.plan.told import PODLESS, as_told, is_vcjob, names_scheduler
from vsched.cli.show.output import say
from vsched.errors import BadInput
from vsched.framework.wording import counted
from vsched.mirror import wire
from vsched.mirror.ingest.objects import class_of
from vsched.mirror.wire.manifests import Manifests, Origin, decode_manifests, without_nulls

if TYPE_CHECKING:
    from vsched.cli.plan.server import PaperServer

KEPT = frozenset({TEMPLATE})
"""Kinds that other objects are made of, and that sessions do not see."""
ENDED = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
"""Phases in which a vcjob needs no pods."""
Manifest = dict[str, Any]
Found = tuple[Origin, Manifest]

WORKLOADS: Mapping[str, str] = {
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
}
"""Kinds that become pods here, with their API groups."""


def decode_with_pods(objects: Iterable[Found]) -> Manifests:
    """The manifests, with the pods of their workloads and the claims of their pods; raises BadInput with one line.

    What makes pods in a cluster and not here is named on stderr.
    """
    found = list(objects)
    manifests = decode_manifests(found, KEPT)  # What is wrong with an object is said before others are made of it.
    complete = with_claims(_with_pods(manifests, found))
    return manifests if complete == found else decode_manifests(complete, KEPT)


def _with_pods(manifests: Manifests, found: list[Found]) -> list[Found]:
    """The objects, with the pods of the workloads among them."""
    if not any(_makes_pods(manifest) for _, manifest in found):
        return found
    server: PaperServer | None = None
    owners = _owners(found)
    complete: list[Found] = []
    for origin, manifest in found:
        if is_vcjob(manifest) and not _uid(manifest):
            server = server or _server(manifests, found)
            complete += _made_of_vcjob(server, manifests, origin, manifest)
        elif not _is_workload(manifest) and not is_vcjob(manifest):
            complete.append((origin, manifest))
            if _makes_pods(manifest):
                _say(origin, manifest, "no pods are made of it here")
        elif _uid(manifest):
            complete.append((origin, manifest))
            if _uid(manifest) not in owners and _replicas(manifest):
                _say(origin, manifest, "it is from a cluster, and none of its pods is among the manifests")
        else:
            server = server or _server(manifests, found)
            complete += _made(server, origin, manifest)
    # Claims of a StatefulSet that are there already are not made again: of two with one name, the last counts.
    claims = [one for one in found if one[1]["kind"] == VOLUME_CLAIM]
    return [*complete, *claims]


def _uid(manifest: Manifest) -> str:
    """The uid of an object that was read from a cluster; empty for one that is written by hand."""
    metadata = manifest.get("metadata")
    return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""


def _made_of_vcjob(server: PaperServer, manifests: Manifests, origin: Origin, manifest: Manifest) -> list[Found]:
    """What the controller of vcjobs makes of one; raises BadInput where it could not be run."""
    from vsched.cli.plan.vcjobs import expanded  # loads the client, which few plans need

    classes = [class_of(one) for one in manifests.objects["PriorityClass"] if isinstance(one, wire.PriorityClass)]
    bodies, later = expanded(origin, manifest, {one.name: one.value for one in classes})
    if later:
        _say(origin, manifest, later)
    return [each for body in bodies for each in _made(server, origin, body)]


def _is_workload(manifest: Manifest) -> bool:
    version = manifest.get("apiVersion")
    group = WORKLOADS.get(manifest["kind"])
    return group is not None and (not version or str(version).rpartition("/")[0] == group)


def _makes_pods(manifest: Manifest) -> bool:
    return manifest["kind"] in PODLESS or manifest["kind"] in WORKLOADS


def _replicas(manifest: Manifest) -> bool:
    """Whether a workload wants pods, as far as it says."""
    spec = manifest.get("spec")
    if is_vcjob(manifest) and _phase(manifest) in ENDED:
        return False
    return not isinstance(spec, dict) or 0 not in (spec.get("replicas"), spec.get("parallelism"))


def _phase(manifest: Manifest) -> str:
    """The phase of a vcjob, as far as it says."""
    status = manifest.get("status")
    state = status.get("state") if isinstance(status, dict) else None
    return str(state.get("phase", "")) if isinstance(state, dict) else ""


def _owners(found: Sequence[Found]) -> frozenset[str]:
    """The uids of all that own a pod or a ReplicaSet among the manifests."""
    uids: set[str] = set()
    for _, manifest in found:
        metadata = manifest.get("metadata")
        references = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
        if isinstance(references, list):
            uids |= {str(one.get("uid")) for one in references if isinstance(one, dict)}
    return frozenset(uids)


def _server(manifests: Manifests, found: Sequence[Found]) -> PaperServer:
    """An API server on paper that knows what stands in the manifests."""
    from vsched.cli.plan.server import PaperServer, group_version_of

    groups = manifests.objects[wire.NATIVE_POD_GROUP]
    classes = [class_of(one) for one in manifests.objects["PriorityClass"] if isinstance(one, wire.PriorityClass)]
    return PaperServer(
        0.0,
        nodes=[_as_served(manifest) for _, manifest in found if manifest["kind"] == "Node"],
        namespaces=(),
        classes={one.name: one for one in classes},
        quotas={},
        group_version=group_version_of(
            one.api_version.rpartition("/")[2] for one in groups if isinstance(one, wire.NativePodGroup)
        ),
    )


def _as_served(node: Manifest) -> Manifest:
    """A node with what every server's nodes have."""
    return {"apiVersion": "v1", "spec": {}, **without_nulls(node)}


def _made(server: PaperServer, origin: Origin, manifest: Manifest) -> list[Found]:
    """A workload and what its controllers make of it; raises BadInput where the API server would refuse it."""
    from vsched.sim.store.api_errors import Failure

    kind = server.kind_of(manifest)
    if kind is None:
        versions = ", ".join(server.served(manifest))
        asked = f'no kind "{manifest["kind"]}" is served in version "{manifest["apiVersion"]}"'
        raise BadInput(f"{origin}: {asked} (expected {versions})")
    metadata = {"namespace": "default", **manifest["metadata"]}
    server.ensure_namespace(metadata["namespace"])
    try:
        made = server.create(kind, {**manifest, "apiVersion": kind.api_version, "metadata": metadata})
    except (Failure, BadInput) as error:
        raise BadInput(f"{origin}: {error}") from None
    if made.refused:
        pods = sum(obj["kind"] == "Pod" for obj in made.others)
        _say(origin, manifest, f"no more than {counted(pods, 'pod', 'pods')} of it: {made.refused}")
    named = names_scheduler(manifest)
    return [(origin, _as_written(as_told(obj, named))) for obj in (made.obj, *made.others)]


def _as_written(obj: Manifest) -> Manifest:
    """As old as what else is written by hand: no time of its own."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "creationTimestamp"}
    return {**obj, "metadata": metadata}


def _say(origin: Origin, manifest: Manifest, what: str) -> None:
    name = (manifest.get("metadata") or {}).get("name", "")
    say(f"vsched: {origin}: {manifest['kind']} {name}: {what}", err=True)
