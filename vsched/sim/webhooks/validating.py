"""Webhooks, validating ones above all: which of them review a write, the reviews they get, and what their answers mean.

The calls are elsewhere (``calls``). A write that needs reviews raises ``ReviewWanted`` before anything is stored. The
server then calls the webhooks and repeats the write from the start, which succeeds once ``Reviews`` has all answers.
Controllers of the cluster itself write without reviews.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.api_errors import Failure, forbidden, internal
from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.validation.webhooks import CONDITION_VARIABLES
from vsched.cel import expressions as cel
from vsched.cel.errors import NotEvaluated
from vsched.randomness import uid
from vsched.sim.store.deletion import DeleteOptions
from vsched.sim.store.store import Store, StoredObject

CONFIGURATIONS = "admissionregistration.k8s.io/validatingwebhookconfigurations"
USER: Obj = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
"""The user in all reviews."""
_EXEMPT = frozenset(
    f"admissionregistration.k8s.io/{plural}"
    for plural in (
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
)
"""Webhooks do not review these, or a broken webhook could never be removed."""
_VERSIONS = ("v1", "v1beta1")

Key = tuple[str, str, str, str, str, str]
PatchKey = tuple[str, str, str, str, str, str, str]
"""A write, and the mutating webhook."""
GroupVersionKind = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ReviewedWrite:
    """A write, for webhooks; a creation has no ``old``, a deletion has no ``obj``."""

    operation: str
    kind: Kind
    namespace: str
    name: str
    obj: Obj | None
    old: Obj | None
    options: Obj
    subresource: str = ""
    dry_run: bool = False
    of: GroupVersionKind | None = None
    """The type of the objects if it is another than ``kind``: a Binding, a Scale."""

    @property
    def key(self) -> Key:
        """Identifies a write to a state of an object."""
        version = self.old["metadata"].get("resourceVersion", "") if self.old is not None else ""
        path = f"{self.kind.resource}/{self.subresource}"
        return self.operation, path, self.kind.version, self.namespace, self.name, version

    @property
    def labels(self) -> list[dict[str, str]]:
        """The labels before and after."""
        metadata = [each.get("metadata") for each in (self.obj, self.old) if each is not None]
        return [(each.get("labels") if isinstance(each, dict) else None) or {} for each in metadata]


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """One webhook, and the write it reviews."""

    hook: Obj
    change: ReviewedWrite
    shown_as: Kind
    """The version of the kind that the webhook wants."""
    patch_key: PatchKey | None = None
    """Where the patch of a mutating webhook is kept; None for a validating one."""

    @property
    def name(self) -> str:
        return str(self.hook["name"])

    @property
    def fails_open(self) -> bool:
        """Whether the write goes on if the call fails."""
        return self.hook.get("failurePolicy") == "Ignore"


@dataclass(slots=True)
class Reviews:
    """The reviews of one request so far."""

    passed: set[Key] = field(default_factory=set)
    patches: dict[PatchKey, Any] = field(default_factory=dict)
    """The JSON patches of mutating webhooks that have been asked; empty where there is nothing to change."""
    identity: Obj = field(default_factory=dict)
    """Name, uid and creation time of a new object, so that the stored object is the reviewed one."""
    warnings: list[str] = field(default_factory=list)


class ReviewWanted(Exception):
    """Webhooks have to review a write first."""

    def __init__(self, questions: Sequence[WebhookCall]) -> None:
        super().__init__(f"{len(questions)} webhooks have to be asked")
        self.questions = tuple(questions)
        self.mutating = any(question.patch_key is not None for question in self.questions)


def wanted(store: Store, change: ReviewedWrite) -> list[WebhookCall]:
    """The webhooks that review a write, in the order of their configurations' names."""
    questions = (question_of(store, hook, change) for _, hook in hooks(store, CONFIGURATIONS, change))
    return [question for question in questions if question is not None]


def hooks(store: Store, configurations: str, change: ReviewedWrite) -> Iterator[tuple[str, Obj]]:
    """The webhooks of all configurations of a kind in the order of their names, each with where it stands."""
    kind = store.registry.resource(configurations)
    if not store.count(kind) or change.kind.storage in _EXEMPT:
        return
    for record in sorted(store.items(kind), key=lambda each: str(each.obj["metadata"]["name"])):
        for index, hook in enumerate(record.obj.get("webhooks") or ()):
            yield f"{record.obj['metadata']['uid']}/{index}", hook


def question_of(store: Store, hook: Obj, change: ReviewedWrite) -> WebhookCall | None:
    """The call of a webhook about a write; None if it is not for this webhook."""
    shown_as = _matching_kind(store.registry, hook, change)
    if shown_as is None or not _selected(store, hook, change):
        return None
    question = WebhookCall(hook, change, shown_as)
    return question if _conditions_hold(question) else None


def _matching_kind(registry: KindRegistry, hook: Obj, change: ReviewedWrite) -> Kind | None:
    """The version that matches the rules of a webhook: that of the request, or an equivalent one."""
    rules = hook.get("rules") or ()
    if any(_matches(rule, change.kind, change) for rule in rules):
        return change.kind
    if hook.get("matchPolicy") == "Exact":
        return None
    others = [kind for kind in registry if kind.storage == change.kind.storage and kind is not change.kind]
    return next((kind for kind in others if any(_matches(rule, kind, change) for rule in rules)), None)


def _matches(rule: Obj, kind: Kind, change: ReviewedWrite) -> bool:
    namespaced = kind.namespaced and bool(change.namespace)
    scope = rule.get("scope") or "*"
    return (
        _named(rule.get("operations"), change.operation)
        and _named(rule.get("apiGroups"), kind.group)
        and _named(rule.get("apiVersions"), kind.version)
        and any(_matches_resource(each, kind.plural, change.subresource) for each in rule.get("resources") or ())
        and (scope == "*" or (scope == "Namespaced") == namespaced)
    )


def _named(given: Sequence[str] | None, wanted: str) -> bool:
    return wanted in (given or ()) or "*" in (given or ())


def _matches_resource(pattern: str, plural: str, subresource: str) -> bool:
    resource, _, below = pattern.partition("/")
    return resource in ("*", plural) and below in ("*", subresource)


def _selected(store: Store, hook: Obj, change: ReviewedWrite) -> bool:
    selector = hook.get("objectSelector") or {}
    if not any(matches_label_selector(selector, labels) for labels in change.labels):
        return False
    selector = hook.get("namespaceSelector") or {}
    if change.kind.storage == "/namespaces":
        return matches_label_selector(selector, change.labels[0])
    if not change.namespace:
        return True
    record = store.get(store.registry.resource("namespaces"), "", change.namespace)
    return matches_label_selector(selector, (record.obj["metadata"].get("labels") or {}) if record else {})


def _conditions_hold(question: WebhookCall) -> bool:
    """Whether all matchConditions are true; for one that fails, the failure policy decides."""
    conditions = question.hook.get("matchConditions") or ()
    if not conditions:
        return True
    request = _request(question)
    variables = {"object": request["object"], "oldObject": request["oldObject"], "request": request}
    problems: list[str] = []
    for condition in conditions:
        try:
            if cel.compiled(condition["expression"], CONDITION_VARIABLES).evaluate(variables) is not True:
                return False
        except NotEvaluated as error:
            problems.append(f"expression '{condition['expression']}' resulted in error: {error}")
    if problems and not question.fails_open:
        change = question.change
        raise forbidden(change.kind, change.name, "; ".join(problems))
    return not problems


def review_of(question: WebhookCall) -> Obj:
    """The AdmissionReview for a webhook."""
    accepted = question.hook.get("admissionReviewVersions") or _VERSIONS
    version = next((each for each in accepted if each in _VERSIONS), "v1")
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"admission.k8s.io/{version}",
        "request": {"uid": uid(), **_request(question)},
    }


def _request(question: WebhookCall) -> Obj:
    change, shown_as = question.change, question.shown_as
    group, version, kind = change.of or (shown_as.group, shown_as.version, shown_as.kind)
    given = change.of or (change.kind.group, change.kind.version, change.kind.kind)
    request: Obj = {
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": _resource(shown_as),
        "requestKind": dict(zip(("group", "version", "kind"), given, strict=True)),
        "requestResource": _resource(change.kind),
        "operation": change.operation,
        "userInfo": USER,
        "object": shown(question, change.obj),
        "oldObject": shown(question, change.old),
        "dryRun": change.dry_run,
        "options": change.options,
    }
    if change.subresource:
        request |= {"subResource": change.subresource, "requestSubResource": change.subresource}
    namespace = change.name if change.kind.storage == "/namespaces" else change.namespace
    return {**request, **{key: value for key, value in (("name", change.name), ("namespace", namespace)) if value}}


def _resource(kind: Kind) -> Obj:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def shown(question: WebhookCall, obj: Obj | None) -> Obj | None:
    """An object in the version that the webhook wants."""
    kind, shown_as = question.change.kind, question.shown_as
    if obj is None or question.change.of is not None:
        return obj
    if shown_as is not kind:
        obj = conversion.to_served(shown_as, conversion.to_stored(kind, shown_as, obj))
    return {"kind": shown_as.kind, "apiVersion": shown_as.api_version, **obj}


def verdict(question: WebhookCall, review: Obj, answer: Any, reviews: Reviews) -> None:
    """Checks an answer; raises Failure if the webhook denies the write, ValueError for an invalid answer."""
    response = answer.get("response") if isinstance(answer, dict) else None
    if not isinstance(response, dict):
        raise ValueError("received invalid webhook response: webhook response was absent")
    expected, given = (f"{one.get('apiVersion')}, Kind={one.get('kind')}" for one in (review, answer))
    if given != expected:
        raise ValueError(f"received invalid webhook response: expected webhook response of {expected}, got {given}")
    uid = review["request"]["uid"]
    if response.get("uid") != uid:
        why = f'expected response.uid="{uid}", got "{response.get("uid", "")}"'
        raise ValueError(f"received invalid webhook response: {why}")
    reviews.warnings.extend(str(each) for each in response.get("warnings") or ())
    if response.get("allowed") is not True:
        raise _denied(question.name, response.get("status"))


def _denied(name: str, given: Any) -> Failure:
    """The denial of a webhook, with its code and message; without a code it is a 400."""
    status: Mapping[str, Any] = given if isinstance(given, dict) else {}
    code, reason, message = status.get("code"), status.get("reason") or "", status.get("message") or ""
    words = f": {message or reason}" if message or reason else " without explanation"
    return Failure(
        code if isinstance(code, int) and 400 <= code < 600 else 400,
        str(reason),
        f'admission webhook "{name}" denied the request{words}',
        details=status["details"] if isinstance(status.get("details"), dict) else None,
    )


def not_called(question: WebhookCall, why: str) -> Failure:
    """The error for a webhook that could not be called."""
    text = f'failed calling webhook "{question.name}": {why}'
    return internal(f"Internal error occurred: {text}", details={"causes": [{"message": text}]})


def change_of(
    operation: str, kind: Kind, name: str, obj: Obj, old: Obj | None, options: Obj, part: str, dry_run: bool
) -> ReviewedWrite:
    """A creation or an update; ``part`` is its subresource, empty for none."""
    namespace = obj["metadata"].get("namespace", "")
    return ReviewedWrite(operation, kind, namespace, name, obj, old, options, part, dry_run)


def deletion_of(kind: Kind, record: StoredObject, options: DeleteOptions) -> ReviewedWrite:
    """A deletion."""
    old = conversion.to_served(kind, record.obj)
    metadata = old["metadata"]
    given: Obj = {"propagationPolicy": options.propagation, "gracePeriodSeconds": options.grace_seconds}
    given = {field: value for field, value in given.items() if value not in ("", None)}
    given = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **given}
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    return ReviewedWrite("DELETE", kind, namespace, name, None, old, given, dry_run=options.dry_run)
