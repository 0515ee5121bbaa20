"""Workloads among manifests: a plan has the pods that their controllers would make of them.

A workload that was read from a cluster (it has a uid) is left as it is: its pods are in the cluster. Where the input
has none of them, that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsched import api
from vsched.api.manifests import Manifests, Origin, decode_manifests, group_and_kind, with_names, without_nulls
from vsched.cli.plan.claims import TEMPLATE, VOLUME_CLAIM, with_claims
from vsched.cli.plan.operators import ManifestIndex, may_concern, operated_at, operator_kind
from vsched.cli.plan.told import PODLESS, WORKLOADS, as_told, is_vcjob, names_scheduler
from vsched.cli.plan.words import objects as words
from vsched.cli.show.output import say
from vsched.errors import BadInput
from vsched.framework.words.lists import counted
from vsched.mirror.ingest.objects import class_of
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadKind, WorkloadTable
from vsched.settings.workloads import load_table

if TYPE_CHECKING:
    from vsched.cli.plan.server import Made, PaperServer

KEPT = frozenset({TEMPLATE})
"""Kinds that other objects are made of, and that sessions do not see."""
ENDED = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
"""Phases in which a vcjob needs no pods."""
Manifest = dict[str, Any]
Found = tuple[Origin, Manifest]


def decode_with_pods(objects: Iterable[Found], table: WorkloadTable = NO_WORKLOADS) -> Manifests:
    """The manifests, with the pods of their workloads and the claims of their pods; raises BadInput with one line.

    What makes pods in a cluster and not here is named on stderr.
    """
    found = list(with_names(objects))
    kinds = {key: kind.id for key, kind in table.by_owner.items() if not kind.is_kept_anyway}
    # What is wrong with an object is said before others are made of it.
    manifests = decode_manifests(found, KEPT, kinds)
    # Of workloads that sessions do not see (Deployments), what counts are the pods: they are not ignored.
    complete = with_claims(
        each
        for each in _with_pods(manifests, found, table)
        if not _is_workload(each[1]) or each[1]["kind"] in api.KINDS
    )
    return manifests if complete == found else decode_manifests(complete, KEPT, kinds)


def table_for(manifests: Iterable[Manifest], file: Path | None) -> WorkloadTable:
    """The table of workload kinds, empty where it concerns none of the manifests; raises BadInput."""
    if file is None and not any(map(may_concern, manifests)):
        return NO_WORKLOADS
    return load_table(file)


def _with_pods(manifests: Manifests, found: list[Found], table: WorkloadTable) -> list[Found]:
    """The objects, with the pods of the workloads among them."""
    if not any(_makes_pods(manifest) or operator_kind(table, manifest) for _, manifest in found):
        return found
    maker = _Maker(manifests, found, table)
    owners = _owners(found)
    complete: list[Found] = []
    for origin, manifest in found:
        entry = operator_kind(table, manifest)
        if _uid(manifest) and (entry or _is_workload(manifest) or is_vcjob(manifest)):
            complete.append((origin, manifest))
            if entry is None and _uid(manifest) not in owners and _replicas(manifest):
                _say(origin, manifest, words.FROM_A_CLUSTER)
        elif entry is not None:
            complete += maker.made_by_operator(origin, manifest, entry)
        elif is_vcjob(manifest):
            complete += maker.made_of_vcjob(origin, manifest)
        elif _is_workload(manifest):
            complete += maker.made(origin, manifest)
        else:
            complete.append((origin, manifest))
            if _makes_pods(manifest):
                _say(origin, manifest, words.NO_PODS_HERE)
    # Claims of a StatefulSet that are there already are not made again: of two with one name, the last counts.
    claims = [one for one in found if one[1]["kind"] == VOLUME_CLAIM]
    return [*complete, *claims]


def _uid(manifest: Manifest) -> str:
    """The uid of an object that was read from a cluster; empty for one that is written by hand."""
    metadata = manifest.get("metadata")
    return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""


def _is_workload(manifest: Manifest) -> bool:
    group, kind = group_and_kind(manifest)
    return kind in WORKLOADS and (not manifest.get("apiVersion") or group == WORKLOADS[kind])


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

    groups = manifests.objects[api.NATIVE_POD_GROUP]
    classes = [class_of(one) for one in manifests.objects["PriorityClass"] if isinstance(one, api.PriorityClass)]
    return PaperServer(
        0.0,
        nodes=[_as_served(manifest) for _, manifest in found if manifest["kind"] == "Node"],
        namespaces=(),
        classes={one.name: one for one in classes},
        quotas={},
        group_version=group_version_of(
            one.api_version.rpartition("/")[2] for one in groups if isinstance(one, api.NativePodGroup)
        ),
    )


def _as_served(node: Manifest) -> Manifest:
    """A node with what every server's nodes have."""
    return {"apiVersion": "v1", "spec": {}, **without_nulls(node)}


class _Maker:
    """Makes of the workloads among manifests what their controllers would."""

    def __init__(self, manifests: Manifests, found: Sequence[Found], table: WorkloadTable) -> None:
        self._manifests = manifests
        self._found = found
        self._table = table
        self._objects = ManifestIndex(each for _, each in found)

    @cached_property
    def _server(self) -> PaperServer:
        """An API server on paper that knows what stands in the manifests."""
        return _server(self._manifests, self._found)

    def made(self, origin: Origin, manifest: Manifest) -> list[Found]:
        """A workload and what its controllers make of it; raises BadInput where the API server would refuse it."""
        kind = self._server.kind_of(manifest)
        if kind is None:
            versions = ", ".join(self._server.served(manifest))
            asked = words.not_served(manifest["kind"], manifest["apiVersion"])
            raise BadInput(f"{origin}: {asked} (expected {versions})")
        metadata = {"namespace": "default", **manifest["metadata"]}
        self._server.ensure_namespace(metadata["namespace"])
        wanted = {**manifest, "apiVersion": kind.api_version, "metadata": metadata}
        made = _tried(origin, lambda: self._server.create(kind, wanted))
        named = names_scheduler(manifest)
        return [(origin, _as_written(as_told(obj, named))) for obj in (made.obj, *_told_of_quotas(origin, made))]

    def made_of_vcjob(self, origin: Origin, manifest: Manifest) -> list[Found]:
        """What the controller of vcjobs makes of one; raises BadInput where it could not be run."""
        from vsched.cli.plan.vcjobs import expanded  # loads the client, which few plans need

        found = self._manifests.objects["PriorityClass"]
        classes = [class_of(one) for one in found if isinstance(one, api.PriorityClass)]
        bodies, later = expanded(origin, manifest, {one.name: one.value for one in classes})
        if later:
            _say(origin, manifest, later)
        return [each for body in bodies for each in self.made(origin, body)]

    def made_by_operator(self, origin: Origin, manifest: Manifest, entry: WorkloadKind) -> list[Found]:
        """An object and what its operator makes of it; raises BadInput where its fields make no sense."""
        made = operated_at(origin, manifest, entry, self._objects)
        for note in made.notes:
            _say(origin, manifest, note)
        complete: list[Found] = [(origin, made.owner)]
        for body in made.others:
            inner = operator_kind(self._table, body)
            complete += self.made(origin, body) if inner is None else self.made_by_operator(origin, body, inner)
        if made.pods:
            self._server.ensure_namespace(made.owner["metadata"]["namespace"])
        named = {pod["metadata"]["name"]: names_scheduler(pod) for pod in made.pods}
        filled = _tried(origin, lambda: self._server.create_pods(made.owner, made.pods))
        for pod in _told_of_quotas(origin, filled):
            complete.append((origin, _as_written(as_told(pod, named[pod["metadata"]["name"]]))))
        return complete


def _tried(origin: Origin, create: Callable[[], Made]) -> Made:
    """What was made; raises BadInput where the API server would refuse it."""
    from vsched.apimachinery.meta.api_errors import Failure

    try:
        return create()
    except (Failure, BadInput) as error:
        raise BadInput(f"{origin}: {error}") from None


def _told_of_quotas(origin: Origin, made: Made) -> Sequence[Manifest]:
    """What is made of an object, and a word on stderr where quotas keep it from more."""
    if made.refused:
        pods = sum(obj["kind"] == "Pod" for obj in made.others)
        _say(origin, made.obj, words.no_more(counted(pods, "pod", "pods"), made.refused))
    return made.others


def _as_written(obj: Manifest) -> Manifest:
    """As old as what else is written by hand: no time of its own."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "creationTimestamp"}
    return {**obj, "metadata": metadata}


def _say(origin: Origin, manifest: Manifest, what: str) -> None:
    name = (manifest.get("metadata") or {}).get("name", "")
    say(f"vsched: {origin}: {manifest['kind']} {name}: {what}", err=True)
