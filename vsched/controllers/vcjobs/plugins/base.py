"""What the plugins of vcjobs have in common: their arguments, and how they change pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.naming import Body
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob
from vsched.controllers.vcjobs.template import part
from vsched.mirror.ingest.metadata import BOOLEANS
from vsched.words import TRUE_OR_FALSE, WHOLE_NUMBER

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_SHOWN = 60
"""The most characters of an argument in a message."""


class KeyPair(NamedTuple):
    """The keys of the ssh plugin."""

    private: str
    """In PEM."""
    public: str
    """As a line of ``authorized_keys``."""


class JobPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin of a vcjob; the fields are its arguments, under their names on the command line."""

    name: ClassVar[str]
    tracked: ClassVar[bool] = True
    """Whether ``status.controlledResources`` names it."""
    hosts_max: ClassVar[int] = 0
    """The most pods whose hosts it can list; 0 where it lists none."""

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> tuple[Self, list[str]]:
        """The plugin with these arguments, and what is wrong with those that are passed over."""
        fields = {field.encode_name: field for field in msgspec.structs.fields(cls)}
        given: dict[str, Any] = {}
        problems = []
        for argument in _joined(arguments, {name for name, field in fields.items() if field.type is bool}):
            flag, _, text = argument.lstrip("-").partition("=")
            field = fields.get(flag) if argument.startswith("-") else None
            value = None if field is None else _value(field.type, text, "=" in argument)
            if field is None or value is None:
                expected = f"expected {_flags(fields.values())}" if field is None else f"expected {_KINDS[field.type]}"
                problems.append(f"spec.plugins[{cls.name}]: {argument[:_SHOWN]!r} ({expected}): ignored")
            else:
                given[field.name] = value
        return cls(**given), problems

    def change_pod(self, body: Body, job: VcJob, task: TaskSpec, index: int) -> None:
        """Change a new pod in place."""

    def objects(self, job: VcJob, keys: KeyPair | None) -> list[Body]:
        """The objects that the job needs because of this plugin."""
        return []

    def problems(self, job: VcJob) -> list[str]:
        """Why the plugin cannot do its work for this job."""
        return []

    def missing(self, job: VcJob, **roles: str) -> list[str]:
        """A problem for each role whose task the job does not have; by argument, the names of tasks."""
        names = {task.name for task in job.tasks}
        return [words.no_task_for_plugin(self.name, task, role) for role, task in roles.items() if task not in names]


def containers(body: Body) -> Iterator[Body]:
    """The containers of a pod, without init containers."""
    yield from body["spec"].get("containers") or ()


def all_containers(body: Body) -> Iterator[Body]:
    """The containers of a pod, and its init containers."""
    yield from containers(body)
    yield from body["spec"].get("initContainers") or ()


def add_env(container: Body, **values: str) -> None:
    """Environment variables with these values; they win over those of the same name in the template."""
    part(container, "env").extend({"name": name, "value": value} for name, value in values.items())


def open_port(container: Body, name: str, port: int) -> None:
    """A port of a container, unless it has one with this number."""
    ports = part(container, "ports")
    if all(each.get("containerPort") != port for each in ports):
        ports.append({"name": name, "containerPort": port})


def mount(container: Body, volume: str, path: str, **more: str) -> None:
    """Mount a volume of the pod."""
    part(container, "volumeMounts").append({"name": volume, "mountPath": path, **more})


_KINDS: dict[object, str] = {bool: TRUE_OR_FALSE, int: WHOLE_NUMBER, str: "a text"}


def _value(kind: object, text: str, said: bool) -> bool | int | str | None:
    """The value of a flag, None where it cannot be used."""
    if kind is bool:
        return BOOLEANS.get(text) if said else True
    if kind is int:
        return int(text) if _WHOLE.fullmatch(text) else None
    return text if said else None


def _joined(arguments: Sequence[str], switches: set[str]) -> list[str]:
    """Arguments as ``--flag=value``; ``--flag value`` is written so, too, unless the flag is a switch."""
    found: list[str] = []
    for argument in arguments:
        last = found[-1] if found else ""
        waits = last.startswith("-") and "=" not in last and last.lstrip("-") not in switches
        if waits and not argument.startswith("-"):
            found[-1] = f"{last}={argument}"
        else:
            found.append(argument)
    return found


def _flags(fields: Any) -> str:
    names = [f"--{field.encode_name}" for field in fields]
    return ", ".join(names) if names else "no arguments"
