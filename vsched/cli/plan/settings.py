"""What ``--set`` may change in a what-if: fields of queues, PodGroups and nodes.

Values are checked by the definitions and rules that the API server has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from vsched.apimachinery.meta.api_errors import Failure
from vsched.cli.plan.trial import PlanTrial, instead
from vsched.cli.plan.words import flags as words
from vsched.errors import BadInput, BadObject, BadQuantity
from vsched.mirror.whatif.nodes import cordon
from vsched.model.amounts.resources import is_schedulable, parse_amount
from vsched.model.queues.queue import CLOSED, CLOSING, OPEN

Manifest = dict[str, Any]


class SettableKind(NamedTuple):
    """A kind of which something may be set."""

    name: str
    fields: Mapping[str, Field]
    """By name; one that ends in a dot is followed by a name of its own: a resource, a role."""


class Field(NamedTuple):
    """One field that may be set."""

    path: tuple[str, ...]
    """Where it is in the object."""
    read: Callable[[str], object]
    """The value of a text; raises ValueError saying what was expected."""
    names: str = ""
    """The kind of the object that the value names, empty where it names none."""
    amount: bool = False
    """Whether it is an amount of a resource."""


def _text(value: str) -> str:
    return value


def _number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError(words.EXPECTED_WHOLE_NUMBER) from None


def _boolean(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError(words.EXPECTED_TRUE_OR_FALSE)
    return value == "true"


def _state(value: str) -> str:
    if value not in (OPEN, CLOSED, CLOSING):
        raise ValueError(f"expected {OPEN}, {CLOSED} or {CLOSING}")
    return value


KINDS = {
    "queue": SettableKind(
        "Queue",
        {
            "weight": Field(("spec", "weight"), _number),
            "priority": Field(("spec", "priority"), _number),
            "parent": Field(("spec", "parent"), _text, "Queue"),
            "reclaimable": Field(("spec", "reclaimable"), _boolean),
            "state": Field(("status", "state"), _state),
            "capability.": Field(("spec", "capability"), _text, amount=True),
            "deserved.": Field(("spec", "deserved"), _text, amount=True),
            "guarantee.": Field(("spec", "guarantee", "resource"), _text, amount=True),
        },
    ),
    "podgroup": SettableKind(
        "PodGroup",
        {
            "minMember": Field(("spec", "minMember"), _number),
            "minTaskMember.": Field(("spec", "minTaskMember"), _number),
            "minResources.": Field(("spec", "minResources"), _text, amount=True),
            "queue": Field(("spec", "queue"), _text, "Queue"),
            "priorityClassName": Field(("spec", "priorityClassName"), _text, "PriorityClass"),
        },
    ),
    "node": SettableKind(
        "Node",
        {
            "unschedulable": Field(("spec", "unschedulable"), _boolean),
            "allocatable.": Field(("status", "allocatable"), _text, amount=True),
            "labels.": Field(("metadata", "labels"), _text),
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of one object set to a value, or taken out where the value is empty."""

    text: str
    """As it was asked for, with the flag."""
    kind: SettableKind
    name: str
    field: Field
    key: str
    """The resource or role, empty where the field has no such part."""
    value: object
    """None to take the field out."""

    def apply(self, trial: PlanTrial) -> None:
        """Make the change; raises BadInput where the API server would refuse it."""
        trial.require(self.kind.name, self.name, self.text)
        if self.field.names and self.value is not None:
            trial.require(self.field.names, str(self.value), self.text)
        if self.field.path == ("spec", "unschedulable"):
            cordon(trial.mirror, self.name, cordoned=bool(self.value))
            return
        before = self._found(trial)
        subresource = "status" if self.field.path[0] == "status" else ""
        try:
            after = trial.server.change(before, self._changed, subresource)
            labels = {"labels": after["metadata"].get("labels", {})} if self.field.path[0] == "metadata" else {}
            metadata = {**before["metadata"], **labels}
            parts = {"spec": after.get("spec", {}), "status": after.get("status", {})}
            trial.mirror.tell({**before, "metadata": metadata, **parts})
        except Failure as failure:
            raise BadInput(f"{self.text}: {failure.message}") from None
        except BadObject as error:
            raise BadInput(f"{self.text}: {error}") from None

    def _found(self, trial: PlanTrial) -> Manifest:
        mirror = trial.mirror
        found = {"Queue": mirror.queue, "PodGroup": mirror.group, "Node": mirror.node}[self.kind.name](self.name)
        assert found is not None, self.name
        if mirror.is_made(self.name) and self.kind.name == "PodGroup":
            raise BadInput(words.only_records(self.text))
        return found

    def _changed(self, manifest: Manifest) -> Manifest:
        path = (*self.field.path, self.key) if self.key else self.field.path
        return _with(manifest, path, self.value)


def setting_of(text: str) -> Setting:
    """What ``KIND/NAME.FIELD=VALUE`` asks for; raises BadInput where there is no such kind or field."""
    asked = f"--set {text}"
    target, equals, value = text.partition("=")
    word, slash, rest = target.partition("/")
    if not (equals and slash):
        raise BadInput(f"{asked}: {words.EXPECTED_SETTING}")
    kind = KINDS.get(word)
    if kind is None:
        raise BadInput(words.cannot_be_set(asked, word, instead(word, list(KINDS))))
    name, found, key = _field(kind, rest, asked)
    try:
        read = found.read(value) if value else None
        if value and found.amount:
            _check_amount(key, value)
    except (ValueError, BadQuantity) as error:
        raise BadInput(f"{asked}: {value!r}: {error}") from None
    return Setting(asked, kind, name, found, key, read)


def _check_amount(resource: str, quantity: str) -> None:
    """Raise ValueError or BadQuantity unless this is an amount of a resource that is scheduled."""
    if not is_schedulable(resource.removeprefix("requests.").removeprefix("limits.")):
        raise ValueError(words.no_resource(resource))
    parse_amount(resource, quantity)


def _field(kind: SettableKind, rest: str, asked: str) -> tuple[str, Field, str]:
    """Name of the object, field and key. Names have dots, too: the field is the first known word behind one."""
    for position, letter in enumerate(rest):
        if letter != "." or not position:
            continue
        name, path = rest[:position], rest[position + 1 :]
        head, dot, key = path.partition(".")
        found = kind.fields.get(head + dot)
        if found is not None and bool(dot) == bool(key):
            return name, found, key
    raise BadInput(f"{asked}: {_missing(kind, rest)}")


def _missing(kind: SettableKind, rest: str) -> str:
    head = rest.rpartition("/")[2].partition(".")[2].partition(".")[0]
    known = [name.rstrip(".") + (".NAME" if name.endswith(".") else "") for name in kind.fields]
    if not head:
        return words.EXPECTED_SETTING
    return words.no_field(kind.name, head, instead(head, known))


def _with(found: Any, path: tuple[str, ...], value: object) -> Manifest:
    """A copy in which the field at the end of the path is this; None takes it out."""
    known: Manifest = dict(found or {})
    step, rest = path[0], path[1:]
    if rest:
        known[step] = _with(known.get(step), rest, value)
    elif value is None:
        known.pop(step, None)
    else:
        known[step] = value
    return known
