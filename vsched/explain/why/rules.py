"""What a pod's own rules ask for, where nodes do not meet them: labels, other pods, domains, volumes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from vsched.explain.records import Constraint
from vsched.explain.why import words
from vsched.framework.codes import Code
from vsched.framework.session import Session
from vsched.framework.words.lists import counted
from vsched.kernels.podaffinity import term_matches
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.volumes import ONCE_POD
from vsched.model.pods.claims import claim_key
from vsched.model.pods.shape import PodTerm, Requirement, Selector
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task

REQUIREMENTS_TOLD = 4
"""A selector is told up to so many requirements."""
TERMS_TOLD = 2
"""So many terms of an affinity are told."""
PODS_MAX = 20_000
"""A rule about other pods is compared with at most this many."""


def of_rules(session: Session, task: Task, codes: Collection[Code]) -> Iterator[Constraint]:
    """What the rules of a task ask for, of those that keep it off nodes by these codes."""
    if Code.SELECTOR in codes:
        yield from _of_labels(session, task)
    if Code.POD_AFFINITY in codes:
        yield from _of_pods(session, task)
    if Code.SPREAD in codes:
        yield from _of_domains(session, task)
    if Code.VOLUMES in codes:
        yield from _of_volumes(session, task)
        yield from _of_attaching(session, task)


def _of_labels(session: Session, task: Task) -> Iterator[Constraint]:
    rules, known = task.shape.rules, session.nodes.statics.row
    if rules.node_name:
        message = words.asks_for_node(rules.node_name, exists=rules.node_name in known)
        yield Constraint(Code.SELECTOR, message, subject=task.job)
    if rules.node_selector:
        asked = [Requirement(key, "In", (value,)) for key, value in rules.node_selector]
        yield Constraint(Code.SELECTOR, words.node_selector_is(_all(asked)), subject=task.job)
    terms = [_all(term.expressions) for term in rules.required or () if term.expressions]
    if terms:
        more = len(terms) - TERMS_TOLD
        told = " or ".join(terms[:TERMS_TOLD]) + (
            f" or {counted(more, 'other term', 'other terms')}" if more > 0 else ""
        )
        yield Constraint(Code.SELECTOR, words.node_affinity(told), subject=task.job)


def _of_pods(session: Session, task: Task) -> Iterator[Constraint]:
    """The pods that a required pod affinity asks for, where none of them is on a node."""
    for term in (() if task.shape.affinity is None else task.shape.affinity.required)[:TERMS_TOLD]:
        if not _has_pods(session, term):
            labels = "" if term.selector is None else _selector(term.selector)
            message = words.pod_affinity(labels, term.topology_key)
            yield Constraint(Code.POD_AFFINITY, message, subject=task.job)


def _has_pods(session: Session, term: PodTerm) -> bool:
    placed = (
        task
        for job in session.snapshot.jobs.values()
        for task in job.tasks.values()
        if task.node and HOLDS[task.status].uses
    )
    return any(
        term_matches(term, task.labels, session.snapshot.namespaces)
        for task, _ in zip(placed, range(PODS_MAX), strict=False)
    )


def _of_domains(session: Session, task: Task) -> Iterator[Constraint]:
    """The labels that nodes lack, or the domains, by which the task is to be spread."""
    nodes = session.nodes.statics.attributes
    for rule in task.shape.spread:
        values = {value for one in nodes if (value := one.labels.get(rule.topology_key)) is not None}
        lacking = sum(rule.topology_key not in one.labels for one in nodes)
        if not rule.hard:
            continue
        if lacking:
            verb = "lacks" if lacking == 1 else "lack"
            of = f"{lacking} of {counted(len(nodes), 'node', 'nodes')} {verb} it"
            message = words.spread_label(rule.topology_key, of)
            yield Constraint(Code.SPREAD, message, subject=task.job)
        if 1 < rule.min_domains > len(values):
            message = words.too_few_domains(rule.min_domains, rule.topology_key, len(values))
            yield Constraint(Code.SPREAD, message, subject=task.job)


def _of_volumes(session: Session, task: Task) -> Iterator[Constraint]:
    """The pods that use a volume which one pod may use at a time."""
    found = session.snapshot.claims.volumes
    for volume in task.claims.volumes if task.claims is not None else ():
        key = claim_key(task.namespace, volume.claim)
        claim, users = found.claims.get(key), found.users.get(key, {})
        others = sorted(other.key for uid, other in users.items() if uid != task.uid)
        if claim is not None and ONCE_POD in claim.modes and others:
            message = words.used_by_pod(volume.claim, ONCE_POD, others[0])
            yield Constraint(Code.VOLUMES, message, subject=others[0])


def _of_attaching(session: Session, task: Task) -> Iterator[Constraint]:
    """The pods whose volumes a node has attached that can attach no more, for the first such node."""
    found = session.snapshot.claims.volumes
    drivers = _drivers(found, task)
    for node, limits in sorted(found.limits.items()):
        users = sorted(found.by_node.get(node, {}).values(), key=lambda one: one.key)
        for driver in drivers:
            most, using = limits.get(driver), [one for one in users if driver in _drivers(found, one)]
            if most is not None and using and sum(_drivers(found, one).count(driver) for one in using) >= most:
                message = words.can_attach_no_more(node, most, driver, using[0].key, len(using) - 1)
                yield Constraint(Code.VOLUMES, message, subject=using[0].key)
                return


def _drivers(found: VolumeCatalogue, task: Task) -> list[str]:
    """The drivers of a task's volumes that exist, one for each volume."""
    named = (claim_key(task.namespace, one.claim) for one in (task.claims.volumes if task.claims is not None else ()))
    claims = (found.claims[key] for key in named if key in found.claims)
    return [found.volumes[one.volume].driver for one in claims if one.volume in found.volumes]


# -- selectors as kubectl writes them ----------------------------------------------------------------------------------


def _selector(selector: Selector) -> str:
    return _all(selector.requirements) or "any labels"


def _all(requirements: Sequence[Requirement]) -> str:
    told = ",".join(map(_requirement, requirements[:REQUIREMENTS_TOLD]))
    more = len(requirements) - REQUIREMENTS_TOLD
    return f"{told} and {more} more" if more > 0 else told


def _requirement(one: Requirement) -> str:
    values = ",".join(one.values)
    match one.operator:
        case "In" if len(one.values) == 1:
            return f"{one.key}={values}"
        case "Exists":
            return one.key
        case "DoesNotExist":
            return f"!{one.key}"
        case "Gt" | "Lt":
            return f"{one.key}{'>' if one.operator == 'Gt' else '<'}{values}"
    return f"{one.key} {one.operator.lower()} ({values})"
