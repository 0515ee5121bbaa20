"""All edits, so that programs get them back from JSON as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from vsched.explain.edits import claims, jobs, namespaces, nodes, others, pods, policy, queues, rules, subgroups
from vsched.explain.edits.base import Edit

MODULES = (claims, jobs, namespaces, nodes, others, pods, policy, queues, rules, subgroups)


def kinds(of: type[Edit] = Edit) -> list[type[Edit]]:
    """The classes of edits: those that no other is made of."""
    below = of.__subclasses__()
    return [kind for each in below for kind in kinds(each)] if below else [of]


if TYPE_CHECKING:
    AnyEdit = Edit
else:
    AnyEdit = Union[tuple(kinds())]  # noqa: UP007  msgspec tells them apart by their tags
