"""New objects in a what-if: as the API server would take them, with the pods that controllers would make of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from vsched import api
from vsched.api.manifests import STDIN, Origin, made_up_uid, read, with_names
from vsched.apimachinery.manifests.documents import FIRST_KINDS
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind
from vsched.cli.plan.claims import TEMPLATE, VOLUME_CLAIM, claims_for, missing_templates
from vsched.cli.plan.operators import operated_at, operator_kind
from vsched.cli.plan.server import Made
from vsched.cli.plan.told import PODLESS, WORKLOADS, as_told, is_vcjob, names_scheduler
from vsched.cli.plan.trial import POD_GROUPS, PlanTrial, Sent
from vsched.cli.plan.vcjobs import expanded
from vsched.cli.plan.words import objects as words
from vsched.errors import BadInput, BadObject
from vsched.framework.words.lists import counted
from vsched.mirror.ingest.workload_kinds import WorkloadKind
from vsched.model.jobs.native import API_GROUP, native_key, title_of

Manifest = dict[str, Any]
DEFAULT_SCHEDULER = "default-scheduler"
GROUP_KINDS = frozenset({*POD_GROUPS, "Queue"})
"""Kinds of which is told what became of them."""
REPLACED = frozenset({"PodGroup", "Queue", "HyperNode"})
"""Kinds that may be there already: they are then replaced, as by ``kubectl apply``."""


@dataclass(frozen=True, slots=True)
class Submit:
    """The objects of one file, created in the order in which they depend on each other."""

    file: str
    objects: tuple[tuple[Origin, Manifest], ...]

    @property
    def text(self) -> str:
        """As it was asked for."""
        return f"--submit {self.file}"

    def apply(self, trial: PlanTrial) -> None:
        """Make the change; raises BadInput where the API server would refuse an object."""
        ranks = {kind: rank for rank, kind in enumerate(FIRST_KINDS)}
        trial.submitted.add(manifest for _, manifest in self.objects)
        for origin, manifest in sorted(self.objects, key=lambda each: ranks.get(each[1]["kind"], len(ranks))):
            entry = operator_kind(trial.mirror.intake.workloads, manifest)
            if entry is None:
                _submit(trial, origin, manifest)
            else:
                _submit_operated(trial, origin, manifest, entry)


def submit_of(file: str) -> Submit:
    """The objects of a file, ``-`` for standard input; raises BadInput where it cannot be read."""
    objects = tuple(with_names(read((file,), sys.stdin)))
    if not objects:
        raise BadInput(words.nothing_in_it("stdin" if file == STDIN else file))
    for origin, manifest in objects:
        _check(origin, manifest)
    return Submit(file, objects)


def _check(origin: Origin, manifest: Manifest) -> None:
    """Raise BadObject unless the object says what it is called, in text."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise BadObject(words.no_name(origin, manifest["kind"]))
    texts = {f"metadata.{name}": metadata.get(name) for name in ("name", "generateName", "namespace")}
    for where, text in {**texts, "apiVersion": manifest.get("apiVersion")}.items():
        if text is not None and not isinstance(text, str):
            raise BadObject(words.no_text(origin, manifest["kind"], where, text))


def _submit(trial: PlanTrial, origin: Origin, manifest: Manifest) -> None:
    if is_vcjob(manifest):
        classes = trial.mirror.origin.priority_classes
        bodies, later = expanded(origin, manifest, {name: found.value for name, found in classes.items()})
        for body in bodies:
            _submit(trial, origin, body)
        if later:
            trial.notes.append(f"{origin}: Job {manifest['metadata'].get('name', '')}: {later}")
        return
    kind = trial.server.kind_of(manifest)
    versions = trial.server.served(manifest) if kind is None else []
    if versions:
        asked = words.not_served(manifest["kind"], manifest["apiVersion"])
        raise BadInput(f"{origin}: {asked} (expected {', '.join(versions)})")
    is_template = kind is not None and kind.kind == TEMPLATE
    if kind is None or not (is_template or _makes_difference(kind)):
        trial.ignored[manifest["kind"]] = trial.ignored.get(manifest["kind"], 0) + 1
        if kind is None or kind.kind in PODLESS:
            trial.notes.append(words.no_pods_here(origin, manifest["kind"]))
        return
    wanted = _addressed(kind, manifest)
    namespace = wanted["metadata"].get("namespace", "")
    if namespace and trial.server.ensure_namespace(namespace):
        trial.notes.append(words.no_namespace(namespace))
    try:
        if _stays(trial, kind, wanted):
            trial.notes.append(words.stays(kind.kind, wanted["metadata"]["name"]))
            return
        if _is_there(trial, kind, wanted):
            _replace(trial, wanted)
            return
        made = trial.server.create(kind, wanted)
        if is_template:
            trial.claims.templates[namespace, made.obj["metadata"]["name"]] = made.obj
            return
    except Failure as failure:
        raise BadInput(f"{origin}: {failure.message}") from None
    except BadInput as error:
        raise BadInput(f"{origin}: {error}") from None
    _admit(trial, origin, kind, made, names_scheduler(wanted))


def _submit_operated(trial: PlanTrial, origin: Origin, manifest: Manifest, entry: WorkloadKind) -> None:
    """An object whose operator makes pods of it, as the table of workload kinds says."""
    made = operated_at(origin, manifest, entry, trial.submitted)
    owner = made.owner
    trial.notes += [f"{origin}: {owner['kind']} {owner['metadata']['name']}: {note}" for note in made.notes]
    namespace = owner["metadata"]["namespace"]
    if trial.server.ensure_namespace(namespace):
        trial.notes.append(words.no_namespace(namespace))
    try:
        trial.mirror.tell(owner)
    except BadObject as error:
        raise BadInput(f"{origin}: {error}") from None
    for body in made.others:
        inner = operator_kind(trial.mirror.intake.workloads, body)
        if inner is None:
            _submit(trial, origin, body)
        else:
            _submit_operated(trial, origin, body, inner)
    if not made.pods:
        return
    try:
        filled = trial.server.create_pods(owner, made.pods)
    except Failure as failure:
        raise BadInput(f"{origin}: {failure.message}") from None
    resource = entry.resources[0]
    kind = Kind(entry.group, resource.version, entry.kind, resource.plural, entry.kind.lower(), True, entry.id)
    _admit(trial, origin, kind, filled, all(map(names_scheduler, made.pods)))


def _makes_difference(kind: Kind) -> bool:
    name = _wire_kind(kind)
    if name not in (*api.KINDS, *WORKLOADS):
        return False
    return name == "Deployment" or api.RESOURCES[name].group == kind.group


def _wire_kind(kind: Kind) -> str:
    return api.kind_of(kind.api_version, kind.kind)


def _addressed(kind: Kind, manifest: Manifest) -> Manifest:
    """The manifest with its version and namespace stated, without what servers add."""
    given = {key: value for key, value in manifest["metadata"].items() if value is not None}
    metadata = {key: value for key, value in given.items() if key not in ("resourceVersion", "managedFields")}
    if kind.namespaced:
        metadata.setdefault("namespace", "default")
    return {**manifest, "apiVersion": kind.api_version, "metadata": metadata}


def _stays(trial: PlanTrial, kind: Kind, wanted: Manifest) -> bool:
    """Whether an object of that name is there and this one makes no difference."""
    name = wanted["metadata"].get("name", "")
    if kind.kind == "Namespace":
        return trial.server.has_namespace(name)
    if kind.kind == "PriorityClass":
        known = trial.mirror.origin.priority_classes.get(name)
        return known is not None and known.value == wanted.get("value")
    namespace = wanted["metadata"].get("namespace", "")
    return trial.mirror.has_claimed(kind.kind, f"{namespace}/{name}" if kind.namespaced else name)


def _is_there(trial: PlanTrial, kind: Kind, wanted: Manifest) -> bool:
    """Whether an object of that name is there that is to be replaced; raises Failure where it cannot be."""
    name, namespace = wanted["metadata"].get("name", ""), wanted["metadata"].get("namespace", "")
    if kind.kind == "Pod" and trial.mirror.has_pod(namespace, name):
        raise Failure(409, "AlreadyExists", words.pod_exists(name))
    if _is_native(kind):
        if trial.mirror.has_native(native_key(namespace, name, composite=kind.kind != "PodGroup")):
            raise Failure(409, "AlreadyExists", words.object_exists(kind.plural, kind.group, name))
        return False
    key = f"{namespace}/{name}" if kind.namespaced else name
    return kind.kind in REPLACED and key in trial.mirror.names(kind.kind)


def _is_native(kind: Kind) -> bool:
    """Whether it is a PodGroup or a CompositePodGroup of Kubernetes itself."""
    return kind.group == API_GROUP and kind.kind in POD_GROUPS


def _replace(trial: PlanTrial, wanted: Manifest) -> None:
    """An object that is there gets another spec."""
    mirror, metadata = trial.mirror, wanted["metadata"]
    key = _name_of(wanted)
    find = {"Queue": mirror.queue, "PodGroup": mirror.group, "HyperNode": mirror.hypernode}[wanted["kind"]]
    before = find(key)
    assert before is not None, key
    after = trial.server.change(before, lambda found: {**found, "spec": wanted.get("spec") or {}})
    annotations = metadata.get("annotations", before["metadata"]["annotations"])
    mirror.tell({**before, "metadata": {**before["metadata"], "annotations": annotations}, "spec": after["spec"]})
    if not any((one.kind, one.name) == (wanted["kind"], key) for one in trial.sent):
        trial.notes.append(words.spec_replaced(wanted["kind"], key))
        if wanted["kind"] in GROUP_KINDS:
            trial.sent.append(Sent(wanted["kind"], key))


def _admit(trial: PlanTrial, origin: Origin, kind: Kind, made: Made, named: bool) -> None:
    """A new object and what is made of it, as the watch tells of them."""
    sent = Sent(kind.kind, _key_of(kind, made.obj))
    for obj in (made.obj, *made.others):
        _refuse_part_of_tree(trial, origin, obj)
    objects = _with_claims(trial, origin, [as_told(obj, named) for obj in (made.obj, *made.others)])
    there = _there_already(trial, kind, made.obj)
    pods = [obj for obj in objects if obj["kind"] == "Pod"]
    charged = trial.server.quotas(pods[0]["metadata"]["namespace"]) if pods else ()
    for obj in (*objects, *charged):
        if api.kind_of(obj["apiVersion"], obj["kind"]) in api.KINDS:
            trial.mirror.tell(obj)
    trial.mirror.bind_volumes(_name_of(obj) for obj in objects if obj["kind"] == VOLUME_CLAIM)
    if there:
        trial.notes.append(words.seem_to_exist(origin, counted(there, "pod", "pods"), kind.kind, sent.name))
    strangers = sorted({_scheduler_of(pod) or DEFAULT_SCHEDULER for pod in pods if not _is_ours(trial, pod)})
    if strangers:
        trial.notes.append(words.left_to(origin, counted(len(pods), "pod", "pods"), ", ".join(strangers)))
    sent.pods += [pod["metadata"]["uid"] for pod in pods if _is_ours(trial, pod)]
    if kind.kind == "StatefulSet" and made.obj["spec"].get("podManagementPolicy") != "Parallel" and len(pods) > 1:
        trial.notes.append(words.statefulset_starts(origin, sent.name))
    if made.refused:
        trial.notes.append(words.no_more_pods(origin, kind.kind, sent.name, len(pods), made.refused))
    joined = _join(trial, sent.pods)
    if _is_in_tree(kind, made.obj):
        return  # what becomes of it is told with its tree
    if kind.kind in (*GROUP_KINDS, *WORKLOADS) or (sent.pods and not joined):
        trial.sent.append(sent)


def _is_in_tree(kind: Kind, obj: Manifest) -> bool:
    return _is_native(kind) and bool(obj["spec"].get("parentCompositePodGroupName"))


def _key_of(kind: Kind, obj: Manifest) -> str:
    """The name of an object; of a PodGroup of Kubernetes itself the key of its job."""
    if not _is_native(kind):
        return _name_of(obj)
    return native_key(obj["metadata"]["namespace"], obj["metadata"]["name"], composite=kind.kind != "PodGroup")


def _refuse_part_of_tree(trial: PlanTrial, origin: Origin, obj: Manifest) -> None:
    """Raise BadInput for what belongs to a tree of PodGroups that is there: what it consists of is not known here."""
    namespace, spec = obj["metadata"].get("namespace", ""), obj.get("spec") or {}
    if obj["kind"] == "Pod":
        group = str((spec.get("schedulingGroup") or {}).get("podGroupName") or "")
        tree = trial.mirror.tree_of(namespace, group) if group else ""
    elif obj["kind"] in POD_GROUPS and obj["apiVersion"].partition("/")[0] == API_GROUP:
        group, parent = obj["metadata"]["name"], str(spec.get("parentCompositePodGroupName") or "")
        key = native_key(namespace, parent, composite=True)
        if trial.mirror.has_origin(key):
            tree = key
        else:
            tree = trial.mirror.tree_of(namespace, parent) if parent else ""
    else:
        return
    if tree:
        raise BadInput(words.belongs_to_existing(origin, obj["kind"], _name_of(obj), title_of(tree)))


def _with_claims(trial: PlanTrial, origin: Origin, objects: list[Manifest]) -> list[Manifest]:
    """The objects, with the claims that controllers make for the pods among them."""
    complete: list[Manifest] = []
    missing: dict[str, None] = {}
    for obj in objects:
        told, claims = claims_for(obj, trial.claims)
        complete += [told, *(_with_uid(claim) for claim in claims)]
        missing |= dict.fromkeys(missing_templates(obj, trial.claims.templates) if obj["kind"] == "Pod" else ())
        if obj["kind"] == VOLUME_CLAIM and obj["spec"].get("storageClassName") is None:
            trial.notes.append(words.no_storage_class(origin, _name_of(obj)))
    for name in missing:
        trial.notes.append(words.no_template(origin, name))
    return complete


def _with_uid(claim: Manifest) -> Manifest:
    metadata = claim["metadata"]
    uid = made_up_uid(claim["kind"], metadata["namespace"], metadata["name"])
    return {**claim, "metadata": {**metadata, "uid": uid}}


def _there_already(trial: PlanTrial, kind: Kind, obj: Manifest) -> int:
    """How many pods are named as if they were of this workload: whether it is there, nobody can see from here."""
    if kind.kind not in WORKLOADS:
        return 0
    metadata, parts = obj["metadata"], 2 if kind.kind == "Deployment" else 1
    names = trial.mirror.owned_names(metadata["namespace"])
    return sum(name.rsplit("-", parts)[0] == metadata["name"] for name in names)


def _join(trial: PlanTrial, uids: list[str]) -> bool:
    """Count pods as parts of the PodGroups they name, where these were submitted before; whether there are any such."""
    groups = {one.name: one for one in trial.sent if one.kind in POD_GROUPS}
    joined = False
    for uid in uids:
        task = trial.mirror.task(uid)
        group = None if task is None else groups.get(task.job)
        if group is not None:
            group.pods.append(uid)
            joined = True
    return joined


def _is_ours(trial: PlanTrial, pod: Manifest) -> bool:
    return _scheduler_of(pod) in trial.mirror.scheduler_names


def _scheduler_of(pod: Manifest) -> str:
    return str(pod["spec"].get("schedulerName") or "")


def _name_of(obj: Manifest) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
