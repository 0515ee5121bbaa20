"""Builds shell command lines from quoted words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from vsched.model.amounts.counted import format_counted

PODS_MAX = 16
"""The most pods for which commands are made, one command for each pod."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*(:(composite\.)?scheduling\.k8s\.io)?")
"""The form of names, label keys and values, and job keys: never an option or a special word for a shell or kubectl.

Keys of native PodGroups end in their API group.
"""


def line(*words: str) -> str:
    """One command line of these words, each quoted for the shell."""
    return shlex.join(words)


def as_json(found: Mapping[str, Any] | Sequence[Any]) -> str:
    """A value as JSON, as one unquoted word for ``line``."""
    return msgspec.json.encode(found).decode()


def patch(kind: str, key: str, body: Mapping[str, Any]) -> str:
    """Changes fields of an object of a namespace by a merge patch."""
    namespace, _, name = key.partition("/")
    return line("kubectl", "patch", kind, name, "-n", namespace, "--type", "merge", "-p", as_json(body))


def from_manifest(pod: str, namespace: str, flags: Sequence[str], then: str, also: str = "") -> str:
    """Hands the manifest of a pod, changed by these flags of ``kubectl patch``, to another command of kubectl."""
    get = line("kubectl", "get", "pod", pod, "-n", namespace, "-o", "json")
    changed = line("kubectl", "patch", "--local", "-f", "-", *flags, "-o", "json")
    return f"{get} | {changed} | {also}kubectl {then} -f -"


def created(kind: str, metadata: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    """Creates an object of Volcano with ``create``, not ``apply``, so that it never changes an existing one."""
    manifest = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}
    return f"{line('echo', as_json(manifest))} | kubectl create -f -"


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts in base units as the API server reads them."""
    return {name: format_counted(name, amount) for name, amount in amounts.items()}


def is_plain(found: object) -> bool:
    """Whether every string in a value has the form of a Kubernetes name or label value."""
    return all(_NAME.fullmatch(text) for text in _texts(found) if text)


def _texts(found: object) -> Iterator[str]:
    """Every string in a value, also in nested tuples and mappings."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        for pair in found.items():
            yield from _texts(pair)
    elif isinstance(found, tuple):
        for one in found:
            yield from _texts(one)
