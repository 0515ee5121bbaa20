"""The whole check: everything that was found, and the commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from vsched.api.resources import VCJOB
from vsched.cli.ask.cluster import ClusterFlags
from vsched.cli.migrate.check.components import (
    CONTROLLERS,
    SCHEDULER,
    Component,
    FoundPolicy,
    component_findings,
    components_of,
    policy_of,
    webhook_findings,
)
from vsched.cli.migrate.check.findings import Finding, Obj, Verdict, counts_of
from vsched.cli.migrate.check.flags import flag_findings
from vsched.cli.migrate.check.keys import key_findings
from vsched.cli.migrate.check.objects import (
    other_findings,
    pod_findings,
    podgroup_findings,
    queue_findings,
    vcjob_findings,
)
from vsched.cli.migrate.check.policy import PART as POLICY
from vsched.cli.migrate.check.policy import policy_findings
from vsched.cli.migrate.check.read import WEBHOOKS, ClusterContents
from vsched.cli.migrate.check.steps import DEFAULT_NAMES, MigrationState, steps_of
from vsched.cli.migrate.check.words import verdicts as words
from vsched.framework.registry import Registry

_KEYS_ON = {
    "Pod": "pods",
    "PodGroup": "podgroups",
    "Queue": "queues",
    VCJOB: "vcjobs",
    "Namespace": "namespaces",
    "Node": "nodes",
}


class MigrationStep(msgspec.Struct, frozen=True):
    """One command, and what it does."""

    does: str
    command: str


class MigrationReport(msgspec.Struct, frozen=True):
    """What a check says."""

    server: str
    namespace: str
    counts: dict[str, int]
    """Findings by verdict."""
    findings: tuple[Finding, ...]
    switch: tuple[MigrationStep, ...]
    back: tuple[MigrationStep, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing, and all was read."""
        return not (self.counts[Verdict.MISSING] or self.counts[Verdict.UNREAD])


def report_of(seen: ClusterContents, namespace: str, cluster: ClusterFlags, registry: Registry) -> MigrationReport:
    """Everything there is to say about a cluster."""
    components = components_of(seen.objects.get("Deployment", ()))
    scheduler = next((one for one in components if one.role == SCHEDULER), None)
    policy = policy_of(scheduler, seen.objects.get("ConfigMap", ()))
    findings = (
        *component_findings(components, namespace),
        *(flag_findings(scheduler.flags) if scheduler is not None else ()),
        *_policy(policy, namespace, registry),
        *_objects(seen, components, namespace),
        *(Finding("not read", kind, Verdict.UNREAD, why) for kind, why in seen.unread.items()),
    )
    steps = steps_of(_situation(components, scheduler, policy, namespace, cluster))
    return MigrationReport(
        server=seen.server,
        namespace=namespace,
        counts=counts_of(findings),
        findings=findings,
        switch=tuple(MigrationStep(*step) for step in steps.there),
        back=tuple(MigrationStep(*step) for step in steps.back),
    )


def _policy(policy: FoundPolicy, namespace: str, registry: Registry) -> Iterator[Finding]:
    if policy.config_map:
        yield Finding(POLICY, f"ConfigMap {namespace}/{policy.config_map}", Verdict.WORKS, f"key {policy.key}")
        yield from policy_findings(policy.text, registry)
    elif policy.wanted:
        says = words.no_config_map(namespace)
        yield Finding(POLICY, policy.wanted, Verdict.UNREAD, says)
    else:
        says = words.BUILT_IN_POLICY
        yield Finding(POLICY, "policy", Verdict.DIFFERS, says)


def _objects(seen: ClusterContents, components: Sequence[Component], namespace: str) -> Iterator[Finding]:
    objects = seen.objects
    configurations: list[Obj] = [one for kind in WEBHOOKS for one in objects.get(kind, ())]
    yield from webhook_findings(configurations, components, namespace)
    if "Queue" in objects:
        yield from queue_findings(objects["Queue"])
    if "PodGroup" in objects:
        yield from podgroup_findings(objects["PodGroup"], objects.get("PriorityClass"))
    if VCJOB in objects:
        yield from vcjob_findings(objects[VCJOB])
    yield from other_findings(objects, _controllers_run(components))
    if "Pod" in objects:
        yield from pod_findings(objects["Pod"], _names(components))
    yield from key_findings({called: objects.get(kind, ()) for kind, called in _KEYS_ON.items()})


def _controllers_run(components: Sequence[Component]) -> bool:
    return any(one.role == CONTROLLERS and one.runs for one in components)


def _names(components: Sequence[Component]) -> tuple[str, ...]:
    """The scheduler names of Volcano's pods."""
    found = [name for one in components if one.role == SCHEDULER for name in one.all_of("scheduler-name")]
    return tuple(dict.fromkeys(found)) or DEFAULT_NAMES


def _situation(
    components: Sequence[Component],
    scheduler: Component | None,
    policy: FoundPolicy,
    namespace: str,
    cluster: ClusterFlags,
) -> MigrationState:
    situation = MigrationState(
        namespace=namespace,
        kubeconfig=str(cluster.kubeconfig or ""),
        context=cluster.context or "",
        names=_names(components),
        policy=(policy.config_map, policy.key),
        controllers=_controllers_run(components),
    )
    if scheduler is None:
        return situation
    queues = scheduler.all_of("default-queue")
    return situation._replace(
        scheduler=scheduler.name, replicas=scheduler.replicas, default_queue=queues[-1] if queues else ""
    )
