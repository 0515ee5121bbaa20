"""Volcano's own Deployments and webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from vsched.cli.migrate.check.findings import Finding, Obj, Verdict
from vsched.cli.migrate.check.flags import flags_of
from vsched.cli.migrate.check.words import verdicts as words

SCHEDULER, CONTROLLERS, WEBHOOKS = "scheduler", "controllers", "admission webhooks"
IMAGES = {"vc-scheduler": SCHEDULER, "vc-controller-manager": CONTROLLERS, "vc-webhook-manager": WEBHOOKS}
LABELS = {"volcano-scheduler": SCHEDULER, "volcano-controller": CONTROLLERS, "volcano-admission": WEBHOOKS}
"""The label ``app`` of the chart of Volcano."""
DEFAULT_POLICY = "volcano-scheduler.conf"
USUAL_CONFIG_MAP = "scheduler-configmap"
"""The end of the name that the chart of Volcano gives to the ConfigMap."""
PART, WEBHOOK_PART = words.OWN_PARTS, "webhooks"


class Component(NamedTuple):
    """A Deployment of Volcano."""

    role: str
    name: str
    image: str
    replicas: int
    ready: int
    flags: tuple[tuple[str, str], ...]
    config_maps: tuple[str, ...]
    """Those that are mounted."""
    environment: Mapping[str, str]

    @property
    def runs(self) -> bool:
        """Whether it is not scaled down."""
        return self.replicas > 0

    def all_of(self, flag: str) -> list[str]:
        """Every value of a flag."""
        return [value for name, value in self.flags if name == flag]


def components_of(deployments: Iterable[Obj]) -> list[Component]:
    """The Deployments that are parts of Volcano, the scheduler first."""
    found = [component for obj in deployments if (component := _component(obj)) is not None]
    order = list(IMAGES.values())
    return sorted(found, key=lambda one: (order.index(one.role), one.name))


def _component(obj: Obj) -> Component | None:
    spec = obj.get("spec") or {}
    template = spec.get("template") or {}
    pod: Mapping[str, Any] = template.get("spec") or {}
    labels = {**(obj["metadata"].get("labels") or {}), **((template.get("metadata") or {}).get("labels") or {})}
    for container in pod.get("containers") or ():
        image = str(container.get("image") or "")
        base = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
        role = IMAGES.get(base) or LABELS.get(labels.get("app", "")) or LABELS.get(obj["metadata"]["name"])
        if role is not None:
            maps = [(volume.get("configMap") or {}).get("name") for volume in pod.get("volumes") or ()]
            return Component(
                role=role,
                name=obj["metadata"]["name"],
                image=image,
                replicas=spec.get("replicas", 1),
                ready=(obj.get("status") or {}).get("readyReplicas") or 0,
                flags=tuple(flags_of(container)),
                config_maps=tuple(name for name in maps if name),
                environment={each["name"]: str(each.get("value") or "") for each in container.get("env") or ()},
            )
    return None


_SAYS = {
    SCHEDULER: words.SCHEDULER_REPLACED,
    CONTROLLERS: words.CONTROLLERS_MAY_STAY,
    WEBHOOKS: "may stay",
}


def component_findings(components: Iterable[Component], namespace: str) -> Iterator[Finding]:
    """What runs, in which version."""
    roles, running = set(), set()
    for one in components:
        roles.add(one.role)
        if one.runs:
            running.add(one.role)
        says = (
            f"{_SAYS[one.role] if one.runs else 'scaled down'}; image {one.image}, {one.ready} of {one.replicas} ready"
        )
        yield Finding(PART, f"{one.role}: Deployment {one.name}", Verdict.WORKS, says)
        if one.role == SCHEDULER and one.environment.get("MULTI_SCHEDULER_ENABLE") == "true":
            says = words.ONE_REPLICA
            yield Finding(PART, "MULTI_SCHEDULER_ENABLE=true", Verdict.MISSING, says)
    if SCHEDULER not in roles:
        says = words.none_in_namespace(namespace)
        yield Finding(PART, SCHEDULER, Verdict.UNREAD, says)
    if CONTROLLERS not in running:
        says = words.NO_CONTROLLERS
        yield Finding(PART, CONTROLLERS, Verdict.WORKS, says)


def webhook_findings(
    configurations: Iterable[Obj], components: Iterable[Component], namespace: str
) -> Iterator[Finding]:
    """The webhooks of Volcano, and what they refuse while nobody answers."""
    answers = any(one.role == WEBHOOKS and one.ready for one in components)
    for configuration in configurations:
        for webhook in configuration.get("webhooks") or ():
            service = (webhook.get("clientConfig") or {}).get("service") or {}
            if service.get("namespace") == namespace:
                yield _webhook(configuration["metadata"]["name"], webhook, answers)


def _webhook(configuration: str, webhook: Obj, answers: bool) -> Finding:
    named = [f"{verb.lower()} {kind}" for rule in webhook.get("rules") or () for verb, kind in _of_rule(rule)]
    what, asked = f"{configuration}: {webhook.get('name', '')}", ", ".join(named)
    if webhook.get("failurePolicy", "Fail") != "Fail":
        return Finding(WEBHOOK_PART, what, Verdict.WORKS, words.reviews(asked))
    if answers:
        says = words.reviews_and_blocks(asked)
        return Finding(WEBHOOK_PART, what, Verdict.DIFFERS, says)
    says = words.refused(asked)
    return Finding(WEBHOOK_PART, what, Verdict.MISSING, says)


def _of_rule(rule: Obj) -> Iterator[tuple[str, str]]:
    for verb in rule.get("operations") or ():
        for kind in rule.get("resources") or ():
            yield verb, kind


class FoundPolicy(NamedTuple):
    """Where the policy of the scheduler is, and its text."""

    config_map: str = ""
    """Empty where no ConfigMap has it."""
    key: str = ""
    text: str = ""
    wanted: str = ""
    """The file that the scheduler names; empty where it names none, and has its built-in policy."""


def policy_of(scheduler: Component | None, maps: Iterable[Obj]) -> FoundPolicy:
    """The policy: under the name of its file, or alone, in a ConfigMap that is mounted or has the usual name."""
    wanted = (scheduler.all_of("scheduler-conf") if scheduler else [""])[-1:] or [""]
    file = wanted[0].rpartition("/")[2] or DEFAULT_POLICY
    by_name: dict[str, Mapping[str, Any]] = {one["metadata"]["name"]: one.get("data") or {} for one in maps}
    mounted = [name for name in (scheduler.config_maps if scheduler else ()) if name in by_name]
    usual = sorted(name for name in by_name if name.endswith(USUAL_CONFIG_MAP))
    for name in (*mounted, *usual):
        data = by_name[name]
        key = file if file in data else next(iter(data)) if len(data) == 1 else ""
        if key:
            return FoundPolicy(name, key, str(data[key]), wanted[0])
    return FoundPolicy(wanted=wanted[0])
