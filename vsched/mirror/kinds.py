"""One handler for each kind of object: the way of the object into the stores, and out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from vsched import api
from vsched.errors import BadObject
from vsched.mirror.assumptions import Assumptions
from vsched.mirror.ingest.budgets import budget_of, quota_of
from vsched.mirror.ingest.hypernodes import hypernode_of
from vsched.mirror.ingest.native import native_record_of
from vsched.mirror.ingest.nodes import node_of
from vsched.mirror.ingest.objects import class_of, namespace_of, selected_by
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.queues import queue_of
from vsched.mirror.ingest.restarts import restart_of
from vsched.mirror.ingest.weights import weight_of
from vsched.mirror.state.zones import KINDS as ZONED
from vsched.mirror.stores import MirrorSettings, Stores
from vsched.model.jobs.native import native_key
from vsched.model.pods.shape import Selector

Put = Callable[[str, Any, list[str]], bool]
"""Takes in an object by its key, with remarks on what of it cannot be used. Raises BadObject, and others of
``UNUSABLE``."""
Drop = Callable[[str], bool]


class KindHandler(NamedTuple):
    """What is done with an object; both say whether that can matter to scheduling."""

    put: Put
    drop: Drop
    """Forgets the object: it is gone, or cannot be used."""


def all_of(handlers: Sequence[KindHandler]) -> KindHandler:
    """Several handlers of one kind, in order."""
    if len(handlers) == 1:
        return handlers[0]

    def put(key: str, found: Any, remarks: list[str]) -> bool:
        each = [handler.put(key, found, remarks) for handler in handlers]
        return any(each)

    def drop(key: str) -> bool:
        each = [handler.drop(key) for handler in handlers]
        return any(each)

    return KindHandler(put, drop)


class KindTable(dict[str, KindHandler]):
    """The handler of each kind; those that only the table of workload kinds names are taken in as owners of pods."""

    def __init__(self, settings: MirrorSettings, stores: Stores, assumptions: Assumptions) -> None:
        self._settings = settings
        self._stores = stores
        self._assumptions = assumptions
        claims, accounts, zones, workloads = stores.claims, stores.accounts, stores.zones, stores.jobs.workloads
        own: dict[str, KindHandler] = {
            "Pod": KindHandler(self._put_pod, self._drop_pod),
            "Node": KindHandler(self._put_node, self._drop_node),
            "PodGroup": KindHandler(self._put_group, stores.groups.drop),
            api.NATIVE_POD_GROUP: KindHandler(self._put_native, partial(self._drop_native, composite=False)),
            "CompositePodGroup": KindHandler(self._put_native, partial(self._drop_native, composite=True)),
            "Workload": KindHandler(
                lambda key, found, _: stores.native.put_workload(key, found),
                lambda key: stores.native.put_workload(key, None),
            ),
            api.VCJOB: KindHandler(self._put_vcjob, lambda key: stores.restarts.put(key, None)),
            "Queue": KindHandler(self._put_queue, partial(stores.defaults.drop, "Queue")),
            "PriorityClass": KindHandler(
                lambda _, found, __: stores.defaults.put_class(class_of(found)),
                partial(stores.defaults.drop, "PriorityClass"),
            ),
            "Namespace": KindHandler(self._put_namespace, self._drop_namespace),
            "ResourceQuota": KindHandler(self._put_quota, self._drop_quota),
            "PodDisruptionBudget": KindHandler(self._put_budget, self._drop_budget),
            "Eviction": KindHandler(
                lambda key, found, _: stores.pods.answer(stores.responders.put(key, found)),
                lambda key: stores.pods.answer(stores.responders.drop(key)),
            ),
            "HyperNode": KindHandler(self._put_hypernode, stores.topology.drop),
            **{kind: KindHandler(self._put_zones, partial(zones.drop, kind)) for kind in ZONED},
            **{kind: KindHandler(claims.put, partial(claims.drop, kind)) for kind in claims.kinds},
        }
        more = {kind: list[KindHandler]() for kind in (*api.KINDS, api.VCJOB)}
        for kind, handler in own.items():
            more[kind].append(handler)
        for kind, found in api.KINDS.items():
            if issubclass(found, api.Selecting):
                more[kind].append(KindHandler(partial(self._select, kind), partial(self._unselect, kind)))
            if issubclass(found, api.Workload):
                more[kind].append(KindHandler(partial(self._put_workload, kind), partial(workloads.drop, kind)))
                more[kind].append(self._owner(kind))
            if settings.arbitrating and kind in accounts.kinds:
                more[kind].append(
                    KindHandler(lambda key, found, _: accounts.put(key, found), partial(accounts.drop, kind))
                )
        super().__init__({kind: all_of(handlers) for kind, handlers in more.items()})

    def __missing__(self, kind: str) -> KindHandler:
        handler = self[kind] = self._owner(kind)
        return handler

    def leave_out(self, kind: str, key: str, found: api.Object, error: Exception) -> None:
        """An object cannot be used: it is forgotten, but for what can be said of it all the same."""
        stores = self._stores
        if kind == "HyperNode":  # its tree is left out with it; of one with a bad field, there is what can be read
            if isinstance(found, api.Malformed):
                why = api.complaint(kind, found.metadata, error).removeprefix(f"HyperNode {key}: ")
                stores.topology.put_unread(key, found.metadata.uid, why)
        elif not isinstance(found, api.Pod):  # what a pod uses of its node is known already
            self[kind].drop(key)
        if self._settings.arbitrating:
            stores.accounts.leave_out(kind, key)

    def _owner(self, kind: str) -> KindHandler:
        gangs = self._stores.gangs
        return KindHandler(partial(gangs.put, kind), partial(gangs.drop, kind))

    # -- pods and nodes -----------------------------------------------------------------------------------------------

    def _put_pod(self, uid: str, pod: api.Pod, remarks: list[str]) -> bool:
        stores = self._stores
        matters = stores.native.see(uid, pod)
        stores.gangs.see(uid, pod)
        matters |= stores.pods.put(uid, pod, remarks)
        if (pod.spec.scheduler_name or "") not in self._settings.scheduler_names:
            return matters | stores.jobs.report_again(stores.foreign.put(uid, pod))
        if len(stores.foreign):
            matters |= stores.jobs.report_again(stores.foreign.drop(uid))
        return matters

    def _drop_pod(self, uid: str) -> bool:
        stores = self._stores
        known = stores.jobs.report_again(stores.foreign.drop(uid))
        gone = stores.records.drop(uid)
        stores.gangs.lose(uid)
        return stores.native.lose(uid) or gone or known

    def _put_node(self, name: str, node: api.Node, remarks: list[str]) -> bool:
        stores = self._stores
        facts = node_of(node, stores.axis, remarks)
        if stores.nodes.alters(facts.attributes):
            self._assumptions.forget_node(name)
        matters = stores.nodes.see(facts)
        return stores.device_shares.put(name, facts.devices) or matters

    def _drop_node(self, name: str) -> bool:
        stores = self._stores
        stores.device_shares.put(name, ())
        self._assumptions.forget_node(name)
        return stores.nodes.lose(name)

    def _put_zones(self, node: str, found: api.NodeResourceTopology | api.Numatopology, _: list[str]) -> bool:
        return self._stores.zones.put(node, found)

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _put_group(self, key: str, found: api.PodGroup, remarks: list[str]) -> bool:
        stores = self._stores
        return stores.groups.put(key, job_spec_of(found, stores.axis, self._settings.default_queue, remarks))

    def _put_native(self, key: str, found: api.NativePodGroup | api.CompositePodGroup, remarks: list[str]) -> bool:
        return self._stores.native.put(key, native_record_of(found, remarks))

    def _drop_native(self, key: str, *, composite: bool) -> bool:
        stores = self._stores
        stores.groups.drop_native(native_key(*key.split("/"), composite=composite))
        return stores.native.drop(key, composite=composite)

    def _put_vcjob(self, key: str, found: api.VolcanoJob | api.Malformed, _: list[str]) -> bool:
        """Whoever looks after vcjobs says what is wrong with one that cannot be read."""
        stores, names = self._stores, ("", *self._settings.scheduler_names)
        if isinstance(found, api.Malformed) or found.spec.scheduler_name not in names:
            return stores.restarts.put(key, None)
        return stores.restarts.put(key, restart_of(found, stores.axis))

    def _put_workload(self, kind: str, key: str, found: api.Workload, _: list[str]) -> bool:
        return self._stores.jobs.workloads.put(kind, key, found)

    # -- what holds for jobs and namespaces ---------------------------------------------------------------------------

    def _put_queue(self, _: str, found: api.Queue, remarks: list[str]) -> bool:
        stores = self._stores
        return stores.defaults.put_queue(queue_of(found, stores.axis, self._settings.open_without_state, remarks))

    def _put_namespace(self, name: str, found: api.Namespace, _: list[str]) -> bool:
        leaving = self._stores.leaving
        (leaving.discard if found.metadata.deletion_timestamp is None else leaving.add)(name)
        return self._stores.defaults.put_namespace(namespace_of(found))

    def _drop_namespace(self, name: str) -> bool:
        self._stores.leaving.discard(name)
        return self._stores.defaults.drop("Namespace", name)

    def _put_quota(self, key: str, found: api.ResourceQuota, remarks: list[str]) -> bool:
        stores, namespace = self._stores, api.namespace_in(key)
        matters = stores.quotas.put(namespace, key, quota_of(found))
        return stores.defaults.put_weight(namespace, key, weight_of(found, remarks)) or matters

    def _drop_quota(self, key: str) -> bool:
        limited = self._stores.quotas.put(api.namespace_in(key), key, None)
        return self._stores.defaults.drop("ResourceQuota", key) or limited

    def _put_budget(self, key: str, found: api.PodDisruptionBudget, _: list[str]) -> bool:
        stores = self._stores
        return stores.budgets.see(api.namespace_in(key), key, budget_of(found), self._assumptions.has_left)

    def _drop_budget(self, key: str) -> bool:
        stores = self._stores
        return stores.budgets.see(api.namespace_in(key), key, None, self._assumptions.has_left)

    def _put_hypernode(self, name: str, found: api.HyperNode, _: list[str]) -> bool:
        parsed = hypernode_of(found)
        matters = self._stores.topology.put(parsed)
        if parsed.problem:
            raise BadObject(f"{api.named('HyperNode', found.metadata)}: {parsed.problem}")
        return matters

    def _select(self, kind: str, key: str, found: api.Selecting, _: list[str]) -> bool:
        return self._set_selector(kind, key, selected_by(found))

    def _unselect(self, kind: str, key: str) -> bool:
        return self._set_selector(kind, key, None)

    def _set_selector(self, kind: str, key: str, selector: Selector | None) -> bool:
        """Never a reason for a session: a selector changes scores, not whether a node fits."""
        self._stores.selections.put(api.namespace_in(key), (kind, key), selector)
        return False
