"""A running cluster on trial: a mirror to change, what was changed of it, and what became of what was submitted."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from vsched.cli.plan.claims import Known
from vsched.cli.plan.operators import ManifestIndex
from vsched.cli.plan.words import flags as words
from vsched.errors import BadInput
from vsched.mirror.whatif.editor import ClusterEditor

if TYPE_CHECKING:  # the rules of an API server are imported where one is asked, so that other plans do not load them
    from vsched.cli.plan.server import PaperServer

MOST_SHOWN = 8
"""Names that a refusal lists."""


class PlanEdit(Protocol):
    """One thing to change."""

    @property
    def text(self) -> str:
        """As it was asked for."""
        ...

    def apply(self, trial: PlanTrial) -> None:
        """Make the change; raises BadInput where that is not possible."""
        ...


POD_GROUPS = ("PodGroup", "CompositePodGroup")
"""Kinds of objects that are jobs by themselves. Those of Kubernetes itself are named by the key of their job."""


@dataclass(slots=True)
class Sent:
    """One object that was submitted, and the pods that it brought."""

    kind: str
    name: str
    """With its namespace, where it has one."""
    pods: list[str] = field(default_factory=list)
    """Uids of the pods it consists of: its own, its members, or those made for it."""


class Lookup(Container[tuple[str, str]]):
    """The names (namespace and name) for which a function finds something."""

    def __init__(self, find: Callable[[str], object]) -> None:
        self._find = find

    def __contains__(self, name: object) -> bool:
        """Whether there is something of this name."""
        return isinstance(name, tuple) and self._find("/".join(name)) is not None


class PlanTrial:
    """A cluster that may be changed, once for each question."""

    def __init__(self, mirror: ClusterEditor) -> None:
        self.mirror = mirror
        self.sent: list[Sent] = []
        self.submitted = ManifestIndex()
        """Every object that was submitted, as it was written."""
        self.notes: list[str] = []
        """What has to be said of the changes, a sentence each."""
        self.ignored: dict[str, int] = {}
        """Objects that were submitted and make no difference, by kind."""
        self.claims = Known(
            Lookup(mirror.stores.claims.volumes.claims.get), Lookup(mirror.stores.claims.devices.claims.get), {}, {}
        )
        """The claims of the cluster, and the templates that were submitted."""

    @cached_property
    def server(self) -> PaperServer:
        """What the API server and the controllers would make of new objects; knows the nodes of its first use."""
        from vsched.cli.plan.server import PaperServer, group_version_of

        origin = self.mirror.origin
        namespaces = {*origin.namespaces, *(job.spec.namespace for job in origin.jobs.values())}
        nodes = [found for name in self.mirror.names("Node") if (found := self.mirror.node(name)) is not None]
        return PaperServer(
            self.mirror.moment,
            nodes=nodes,
            namespaces=sorted(namespaces),
            classes=origin.priority_classes,
            quotas={namespace: self.mirror.quotas(namespace) for namespace in origin.quotas},
            group_version=group_version_of(
                job.spec.native.version for job in origin.jobs.values() if job.spec.native is not None
            ),
        )

    def require(self, kind: str, name: str, asked: str) -> None:
        """Raise BadInput, with what there is, unless there is an object of this name."""
        known = self.mirror.names(kind)
        if name not in known:
            raise BadInput(words.no_object(asked, kind, name, instead(name, known)))


def instead(name: str, known: list[str]) -> str:
    """What may have been meant by a name that is unknown, else what there is, in brackets."""
    close = get_close_matches(name, known, n=1)
    if close:
        return words.did_you_mean(close[0])
    if not known:
        return words.THERE_ARE_NONE
    rest = f" and {len(known) - MOST_SHOWN} more" if len(known) > MOST_SHOWN else ""
    return words.expected_one_of(", ".join(known[:MOST_SHOWN]), rest)
