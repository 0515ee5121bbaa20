"""Queues of Kueue (``kueue.x-k8s.io``, v1beta1 and v1beta2) as Volcano Queues.

A ClusterQueue becomes a queue, its cohort the queue above it. The nominal quota is what a queue deserves; with the
borrowing limit it is the capability; what it does not lend is its guarantee. A cohort has what its members have and its
own quota together; one without a parent can borrow from nobody, so that is its capability, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from vsched.cli.migrate.queues import words
from vsched.cli.migrate.queues.made import (
    Amounts,
    Conversion,
    MadeNamespace,
    MadeQueue,
    Obj,
    QueueNamer,
    amount,
    listed,
    mapping,
    name_of,
    parents_first,
    text,
)
from vsched.controllers.queues import STATE_WISH
from vsched.errors import BadInput, BadQuantity
from vsched.model.amounts.quantity import parse_quantity

GROUP = "kueue.x-k8s.io"
KINDS = ("ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue")
"""The kinds that are converted."""

NOT_CARRIED = {
    "namespaceSelector": words.ALL_NAMESPACES,
    "flavorFungibility": words.NO_FLAVORS,
    "preemption": words.POLICY_EVICTS,
    "admissionChecks": words.NOTHING_OUTSIDE,
    "admissionChecksStrategy": words.NOTHING_OUTSIDE,
    "admissionScope": words.POLICY_ORDERS,
}
"""Fields of ClusterQueues and Cohorts that have no counterpart, and what there is instead."""
OF_FLAVORS = {
    "nodeLabels": words.OWN_SELECTORS,
    "nodeTaints": words.TAINTS_COUNT,
    "tolerations": words.OWN_TOLERATIONS,
    "topologyName": words.CLOSENESS,
}
_CARRIED = frozenset(
    {"cohort", "cohortName", "parent", "parentName", "resourceGroups", "fairSharing", "queueingStrategy", "stopPolicy"}
)
_QUOTA_FIELDS = frozenset({"name", "nominalQuota", "borrowingLimit", "lendingLimit"})


class KueueQuotas(NamedTuple):
    """The quotas of one object, summed over its flavors, in base units."""

    nominal: Amounts
    borrowing: Amounts
    """Resources with a limit for every flavor; the others may be borrowed without limit."""
    lending: Amounts
    """Resources of which some flavor is not lent whole: what may be lent."""


def converted(objects: Iterable[Obj]) -> Conversion:
    """The queues and namespaces that these objects become; raises BadInput where one cannot be read."""
    found: dict[str, dict[str, Obj]] = {kind: {} for kind in KINDS}
    made = Conversion()
    for obj in objects:
        metadata = obj["metadata"]
        key = f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
        if obj["kind"] in found:
            found[obj["kind"]][key if obj["kind"] == "LocalQueue" else metadata["name"]] = obj
        else:
            made.notes.append(words.object_not_carried_over(obj["kind"], metadata["name"], GROUP))
    tree = _Tree(found["ClusterQueue"], found["Cohort"])
    made.queues += parents_first(tree.queues())
    tree.total(made.queues)
    for name, flavor in found["ResourceFlavor"].items():
        made.notes += _flavor_notes(
            f"ResourceFlavor {name}", mapping(f"ResourceFlavor {name}: spec", flavor.get("spec"))
        )
    made.namespaces += _namespaces(found["LocalQueue"].values(), tree.names)
    return made


class _Tree:
    """The ClusterQueues below their cohorts."""

    def __init__(self, cluster_queues: Mapping[str, Obj], cohorts: Mapping[str, Obj]) -> None:
        self._names = QueueNamer()
        self._cluster_queues, self._cohorts = cluster_queues, cohorts
        self.names = {name: self._names.take(name, "queue") for name in cluster_queues}
        """The names of the queues that ClusterQueues become."""
        self._cohort_names: dict[str, str] = {}
        self._quotas: dict[str, KueueQuotas] = {}

    def queues(self) -> Iterator[MadeQueue]:
        """A queue for each object, and for each cohort that is only named."""
        for name, obj in self._cluster_queues.items():
            yield self._made(f"ClusterQueue {name}", self.names[name], obj, ("cohortName", "cohort"))
        for name, obj in self._cohorts.items():
            yield self._made(f"Cohort {name}", self._cohort(name), obj, ("parentName", "parent"))
        for name, queue in self._cohort_names.items():
            if name not in self._cohorts:
                self._quotas[queue] = KueueQuotas({}, {}, {})
                yield MadeQueue(queue, words.cohort_named(name))

    def _cohort(self, name: str) -> str:
        if name not in self._cohort_names:
            self._cohort_names[name] = self._names.take(name, "cohort")
        return self._cohort_names[name]

    def _made(self, source: str, name: str, obj: Obj, parent_fields: tuple[str, str]) -> MadeQueue:
        spec = mapping(f"{source}: spec", obj.get("spec"))
        made = MadeQueue(name, source)
        if name != obj["metadata"]["name"]:
            made.notes.append(words.another_queue(obj["metadata"]["name"]))
        parent = next((text(f"{source}: spec.{field}", spec[field]) for field in parent_fields if spec.get(field)), "")
        made.parent = self._cohort(parent) if parent else ""
        self._quotas[name] = _quotas(source, spec, made.notes)
        made.weight = _weight(source, spec, made.notes)
        _note_order_and_state(source, spec, made)
        for field, value in spec.items():
            if field not in _CARRIED and value is not None and not (field == "namespaceSelector" and value == {}):
                made.notes.append(words.not_carried_over(f"spec.{field}", NOT_CARRIED.get(field, words.NO_COUNTERPART)))
        if source.startswith("ClusterQueue") and spec.get("namespaceSelector") is None:
            made.notes.append(words.NO_NAMESPACES)
        return made

    def total(self, queues: list[MadeQueue]) -> None:
        """Work out the amounts of all queues, which are there with parents first."""
        by_name = {queue.name: queue for queue in queues}
        for queue in reversed(queues):
            quotas = self._quotas[queue.name]
            for name, own in quotas.nominal.items():
                queue.deserved[name] = queue.deserved.get(name, 0) + own
            _keep_what_is_not_lent(queue, quotas)
            parent = by_name.get(queue.parent)
            if parent is not None:
                for mine, theirs in ((queue.deserved, parent.deserved), (queue.guarantee, parent.guarantee)):
                    for name, value in mine.items():
                        theirs[name] = theirs.get(name, 0) + value
        for queue in queues:
            self._limit(queue, by_name.get(queue.parent))

    def _limit(self, queue: MadeQueue, parent: MadeQueue | None) -> None:
        quotas = self._quotas[queue.name]
        if parent is None:
            queue.capability = dict(queue.deserved)
            if quotas.borrowing:
                queue.notes.append(words.NO_BORROWING)
            return
        for name, limit in quotas.borrowing.items():
            total = queue.deserved.get(name, 0) + limit
            most = parent.capability.get(name)
            if most is not None and total > most:
                queue.notes.append(words.borrowing_cut(name, parent.name))
                total = most
            queue.capability[name] = total


def _keep_what_is_not_lent(queue: MadeQueue, quotas: KueueQuotas) -> None:
    """The guarantee: what the queue and those below it have and do not lend, and what those below it keep."""
    if quotas.lending and not queue.parent:
        queue.notes.append(words.NO_LENDING)
        return
    for name, lent in quotas.lending.items():
        kept = queue.deserved.get(name, 0) - lent
        if kept > queue.guarantee.get(name, 0):
            queue.guarantee[name] = kept


# -- fields


def _quotas(source: str, spec: Mapping[str, Any], notes: list[str]) -> KueueQuotas:
    """The sums over flavors; notes say what a sum does not keep."""
    nominal: Amounts = {}
    borrowing: dict[str, list[int | None]] = {}
    lending: dict[str, list[int | None]] = {}
    flavors: dict[str, list[str]] = {}
    kept: dict[str, int] = {}
    for flavor, resource, where in _entries(source, spec):
        name = name_of(where, resource)
        quota = amount(f"{where}.nominalQuota", name, resource.get("nominalQuota", 0))
        nominal[name] = nominal.get(name, 0) + quota
        flavors.setdefault(name, []).append(flavor)
        for field, found in (("borrowingLimit", borrowing), ("lendingLimit", lending)):
            limit = resource.get(field)
            found.setdefault(name, []).append(None if limit is None else amount(f"{where}.{field}", name, limit))
        lent = lending[name][-1]
        kept[name] = kept.get(name, 0) + (0 if lent is None else max(0, quota - lent))
        at = where.partition(": ")[2]
        notes += (words.not_carried_over(f"{at}.{field}") for field in sorted(resource.keys() - _QUOTA_FIELDS))
    for name, of in flavors.items():
        if len(of) > 1:
            notes.append(words.sum_of_flavors(name, ", ".join(of)))
        limits = borrowing[name]
        if None in limits and any(limit is not None for limit in limits):
            notes.append(words.no_borrowing_limit(name))
    limited = {name: sum(filter(None, limits)) for name, limits in borrowing.items() if None not in limits}
    lent_at_most = {
        name: nominal[name] - kept[name]
        for name, limits in lending.items()
        if any(limit is not None for limit in limits)
    }
    return KueueQuotas(nominal, limited, lent_at_most)


def _entries(source: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """The flavor, the resource, and the place of each quota."""
    for number, group in enumerate(listed(f"{source}: spec.resourceGroups", spec.get("resourceGroups"))):
        at = f"{source}: spec.resourceGroups[{number}]"
        for place, flavor in enumerate(listed(f"{at}.flavors", mapping(at, group).get("flavors"))):
            below = f"{at}.flavors[{place}]"
            of = mapping(below, flavor)
            for index, resource in enumerate(listed(f"{below}.resources", of.get("resources"))):
                where = f"{below}.resources[{index}]"
                yield name_of(below, of), mapping(where, resource), where


def _weight(source: str, spec: Mapping[str, Any], notes: list[str]) -> Fraction:
    sharing = mapping(f"{source}: spec.fairSharing", spec.get("fairSharing"))
    unknown = sorted(sharing.keys() - {"weight"})
    notes += (words.not_carried_over(f"spec.fairSharing.{field}") for field in unknown)
    weight = sharing.get("weight")
    if weight is None:
        return Fraction(1)
    try:
        found = Fraction(parse_quantity(str(weight), 1000), 1000)
    except BadQuantity as error:
        raise BadInput(f"{source}: spec.fairSharing.weight: {error}") from None
    return found


def _note_order_and_state(source: str, spec: Mapping[str, Any], made: MadeQueue) -> None:
    if spec.get("queueingStrategy") == "StrictFIFO":
        made.notes.append(words.STRICT_FIFO)
    stop = text(f"{source}: spec.stopPolicy", spec.get("stopPolicy"))
    if stop not in ("", "None"):
        made.annotations[STATE_WISH] = "closed"
        if stop != "Hold":
            made.notes.append(words.stopped(stop))


def _flavor_notes(source: str, spec: Mapping[str, Any]) -> Iterator[str]:
    for field, value in spec.items():
        if value:
            yield words.of_source(source, f"spec.{field}", OF_FLAVORS.get(field, words.NO_COUNTERPART))


def _namespaces(local_queues: Iterable[Obj], names: Mapping[str, str]) -> Iterator[MadeNamespace]:
    """A namespace for each that has LocalQueues; the default queue is that of its only one, or of ``default``."""
    found: dict[str, dict[str, Obj]] = {}
    for obj in local_queues:
        metadata = obj["metadata"]
        found.setdefault(metadata.get("namespace") or "default", {})[metadata["name"]] = obj
    for namespace, queues in found.items():
        made = MadeNamespace(namespace, "")
        leads: dict[str, str] = {}
        for name, obj in queues.items():
            source = f"LocalQueue {namespace}/{name}"
            spec = mapping(f"{source}: spec", obj.get("spec"))
            target = text(f"{source}: spec.clusterQueue", spec.get("clusterQueue"))
            if target not in names:
                made.notes.append(words.no_cluster_queue(source, target or "(none)"))
                continue
            leads[name] = names[target]
            if name != names[target]:
                made.notes.append(words.name_the_queue(source, GROUP, name, names[target]))
            made.notes += (
                words.of_source(source, f"spec.{field}")
                for field, value in spec.items()
                if field != "clusterQueue" and value is not None and (field, value) != ("stopPolicy", "None")
            )
        chosen = "default" if "default" in leads else next(iter(leads)) if len(leads) == 1 else ""
        made.queue = leads.get(chosen, "")
        if len(leads) > 1 and not chosen:
            made.notes.append(words.no_default(len(leads)))
        yield made
