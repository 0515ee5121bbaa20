"""The editor of a cluster: a mirror made from a snapshot, to which callers apply edits and changed objects.

A what-if question about a running cluster needs only a snapshot of it. The editor writes nothing to the API server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Protocol

from vsched import api
from vsched.api.manifests import group_and_kind
from vsched.arbitrator.ceilings import ceilings_of, pools_of
from vsched.arbitrator.division.divide import divide
from vsched.errors import BadInput, BadObject
from vsched.mirror.whatif.records import EditableMirror
from vsched.mirror.whatif.rendering import Manifest, encoded, group_manifest, node_manifest, queue_manifest
from vsched.mirror.whatif.topology import hypernode_manifest
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot


class ClusterChange(Protocol):
    """A change of a cluster on paper; equal to another one that does the same."""

    def apply(self, cluster: EditableMirror) -> None:
        """Make the change; raises BadInput if its object does not exist."""


class ClusterEditor(EditableMirror):
    """A mirror made from a snapshot, with the changes made since. Only edits can be undone; all other changes stay."""

    _edits: tuple[tuple[ClusterChange, int], ...] = ()
    """The edits in force, each with the undo mark from before it."""
    _edited: Snapshot | None = None
    """The snapshot with these edits; None until ``edited`` makes it."""
    _named: dict[str, dict[str, bool]] | None = None
    """By namespace, the names of its pods and whether a controller owns each; None until the first lookup."""

    def let_go(self) -> None:
        """Let go of all that is here; nothing can be asked afterwards.

        The parts of a mirror refer to each other. A garbage collector that found them, hundreds of thousands of
        objects, would stop everything meanwhile.
        """
        parts: list[object] = [self]
        while parts:
            part = parts.pop()  # held until it is empty: Python 3.13.0 crashes on what an object has that is gone
            has = vars(part)
            parts += [one for one in has.values() if _is_part(one)]
            has.clear()

    # Changes as edits

    def edited(self, edits: Sequence[ClusterChange]) -> Snapshot:
        """The snapshot with exactly these edits applied; valid until the next call.

        Edits that this call shares with the previous one, from the first on, stay in place. Raises BadInput if the
        object of an edit does not exist.
        """
        alike = takewhile(lambda pair: pair[0][0] == pair[1], zip(self._edits, edits, strict=False))
        common = sum(1 for _ in alike)
        if common < len(self._edits):
            self._take_back_to(common)
        for edit in edits[common:]:
            self.edit(edit)
        self._edited = self._edited or self._seen_now()
        return self._edited

    def _seen_now(self) -> Snapshot:
        """The snapshot of the mirror as it is now, with the parts of the original that the mirror does not keep."""
        origin = self.origin
        found = replace(
            self.snapshot(origin.now),
            changed=origin.changed,
            previous=origin.previous,
            arbitration=self.arbitrated,
            setbacks=origin.setbacks,
            foreign=origin.foreign,
        )
        divided = self.arbitrated is origin.arbitration and list(found.total) == list(origin.total)
        if found.arbitration is None or divided:
            return found
        # Changed nodes or limits change what is divided, so compute the ceilings of the namespaces again.
        division = divide(found)
        return replace(found, ceilings=ceilings_of(division, found.axis), pools=pools_of(division, found.axis))

    def edit(self, edit: ClusterChange) -> None:
        """Apply one edit; raises BadInput, and changes nothing, if its object does not exist."""
        mark = self.mark()
        try:
            edit.apply(self)
        except BadInput:
            self.take_back(mark)
            raise
        self._edits, self._edited = (*self._edits, (edit, mark)), None

    def _take_back_to(self, count: int) -> None:
        """Undo all edits except the first ``count``."""
        self.take_back(self._edits[count][1])
        self._edits, self._edited = self._edits[:count], None

    # Objects as manifests

    def node(self, name: str) -> Manifest | None:
        """A node as a manifest, without what it registers of shared devices; None if it does not exist."""
        facts = self.stores.nodes.facts(name)
        return None if facts is None else node_manifest(facts.attributes, facts.allocatable, self.axis)

    def queue(self, name: str) -> Manifest | None:
        """A queue as a manifest; None if there is no Queue object of that name."""
        facts = self.stores.defaults.queue_facts(name)
        return None if facts is None else queue_manifest(facts, self.axis)

    def group(self, key: str) -> Manifest | None:
        """A PodGroup as a manifest; None if there is no PodGroup object of that key, or Kubernetes' own alone."""
        spec = self.stores.jobs.group(key)
        return group_manifest(spec, self.axis) if spec is not None and self.group_is_volcanos(key) else None

    def group_is_volcanos(self, key: str) -> bool:
        """Whether an object of Volcano stands for the job of this key, and not one of Kubernetes' own."""
        spec = self.stores.jobs.group(key)
        return spec is not None and spec.native is None

    def hypernode(self, name: str) -> Manifest | None:
        """A HyperNode as a manifest; None if it does not exist, or cannot be read."""
        found = self.topology.get(name)
        return None if found is None else hypernode_manifest(found)

    def is_made(self, key: str) -> bool:
        """Whether the scheduler itself made this PodGroup, for pods that name none."""
        spec = self.stores.jobs.group(key)
        return spec is not None and spec.made

    def names(self, kind: str) -> list[str]:
        """The names of all objects of a kind: nodes, queues, PodGroups (``namespace/name``), HyperNodes or priority
        classes.
        """
        match kind:
            case "Node":
                return sorted(attributes.name for attributes, _ in self.nodes())
            case "Queue":
                return self.stores.defaults.queue_names()
            case "PodGroup":
                return [key for key in self.stores.jobs.group_keys() if self.group_is_volcanos(key)]
            case "HyperNode":
                return self.topology.names()
            case _:
                return list(self.stores.defaults.classes())

    def has_native(self, key: str) -> bool:
        """Whether there is a job of Kubernetes' own PodGroups with this key."""
        spec = self.stores.jobs.group(key)
        return spec is not None and spec.native is not None

    def has_origin(self, key: str) -> bool:
        """Whether the snapshot has a job of this key."""
        return key in self.origin.jobs

    def tree_of(self, namespace: str, group: str) -> str:
        """The job of the snapshot that has this PodGroup below its CompositePodGroup; empty where there is none."""
        return next(
            (
                job.key
                for job in self.origin.jobs.values()
                if job.spec.namespace == namespace
                and job.spec.native is not None
                and any(child.name == group for child in job.spec.native.children)
            ),
            "",
        )

    # Changes as objects

    def tell(self, manifest: Manifest) -> None:
        """Apply a changed or new object, as a watch event would; raises BadObject if the mirror cannot use it."""
        kind = api.kind_of(manifest.get("apiVersion") or "", manifest["kind"])
        workload = self.intake.workloads.by_owner.get(group_and_kind(manifest))
        if workload is not None:
            kind = workload.id
            self.intake.set_refused(kind, refused=False)  # there is one
        found = api.decode(kind, encoded(manifest)) if kind in api.KINDS else api.read_workload(kind, encoded(manifest))
        before = self.stores.jobs.group(api.identity_of(kind, found.metadata)) if kind == "PodGroup" else None
        devices = self.shared_devices(found.metadata.name) if kind == "Node" else ()
        self.intake.apply(kind, "MODIFIED", found)
        if devices and not self.shared_devices(found.metadata.name):
            # What a node registers is not in its manifest: see ``node_manifest``.
            self.stores.device_shares.put(found.metadata.name, devices)
        if before is not None:
            self.stores.groups.ask_in_vain(before)
        broken = self.broken.get((kind, api.identity_of(kind, found.metadata)))
        if broken is not None:
            raise BadObject(broken.message)

    # The pods of a node

    def on(self, node: str) -> tuple[list[Task], int]:
        """The pods of jobs that use a node, by key, and the number of its other pods."""
        ours = [
            task
            for job in self.stores.jobs.everyone()
            for task in job.tasks.values()
            if task.node == node and HOLDS[task.status].uses
        ]
        return sorted(ours, key=lambda task: task.key), self.stores.nodes.unknown(node)

    def bound_for(self, node: str) -> list[Task]:
        """Pending DaemonSet pods for this node; when the node goes, their controller deletes them."""
        everyone = (task for job in self.stores.jobs.everyone() for task in job.pending.values())
        return [task for task in everyone if task.returns and _only_node(task.shape) == node]

    def take_away(self, task: Task) -> None:
        """Remove a pod; no controller replaces it."""
        self.stores.records.drop(task.uid)
        self._no_longer_count(task)
        if self._named is not None:
            self._named.get(task.namespace, {}).pop(task.name, None)

    def start_anew(self, task: Task) -> None:
        """Remove a pod, and add the pending pod with which its controller replaces it."""
        implicit, owned = self.stores.jobs.implicit_of(task), self._paper.owned(task)
        self.stores.records.drop(task.uid)
        self._begin_anew(task, implicit, owned)

    def clear_of_others(self, node: str) -> None:
        """Remove the pods of other schedulers from a node."""
        self.stores.nodes.leave_known(node)
        for task in self._unknown:
            if task.node == node:
                self.stores.nodes.forget_load(task)

    def lose_node(self, name: str) -> None:
        """Remove a node, with its devices."""
        self.intake.apply("Node", "DELETED", api.Node(api.Metadata(name)))
        self._claim_edits.lose_node(name)

    def has_pod(self, namespace: str, name: str) -> bool:
        """Whether a job has a pod of this name, of those known at the first lookup and not removed since."""
        return name in self._names(namespace)

    def owned_names(self, namespace: str) -> list[str]:
        """The names of the pods of a namespace that a controller owns."""
        return [name for name, owned in self._names(namespace).items() if owned]

    def _names(self, namespace: str) -> Mapping[str, bool]:
        if self._named is None:
            self._named = {}
            for job in self.stores.jobs.everyone():
                for task in job.tasks.values():
                    self._named.setdefault(task.namespace, {})[task.name] = task.owned
        return self._named.get(namespace, {})


def _only_node(shape: Shape) -> str:
    """The node that a DaemonSet pod is made for; empty if its shape names none."""
    terms = shape.rules.required or ()
    fields = [field for term in terms for field in term.fields]
    return fields[0].values[0] if fields and fields[0].operator == "In" and fields[0].values else ""


def _is_part(one: object) -> bool:
    return hasattr(one, "__dict__") and type(one).__module__.startswith("vsched.mirror.")
