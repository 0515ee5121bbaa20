"""Takes in watch events and lists of all kinds, and leaves out what cannot be used.

Events and pieces of lists may come in any order, twice or late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vsched import api
from vsched.errors import UNUSABLE, BadObject, NoColumn
from vsched.mirror.assumptions import Assumptions
from vsched.mirror.awaiting_columns import AwaitingColumns
from vsched.mirror.events import MirrorEvents
from vsched.mirror.ingest.workload_kinds import WorkloadTable, read_again_for
from vsched.mirror.kinds import KindTable
from vsched.mirror.state.resource_versions import SeenVersions, as_number
from vsched.mirror.stores import MirrorSettings, Stores
from vsched.model.arbitration.records import Ceiling

DELETED = "DELETED"
UPSERTS = frozenset({"ADDED", "MODIFIED"})

SETTLING = frozenset({"Queue", "PriorityClass", "Namespace"})
"""Kinds from which the priorities of pods and jobs follow, and their default queues."""


class ObjectIntake:
    """The way of every object into the stores."""

    def __init__(
        self, settings: MirrorSettings, stores: Stores, assumptions: Assumptions, events: MirrorEvents
    ) -> None:
        self._settings = settings
        self._stores = stores
        self._assumptions = assumptions
        self._events = events
        self._seen = stores.seen
        self._kinds = KindTable(settings, stores, assumptions)
        self._awaiting_columns = AwaitingColumns(stores.axis)
        self.workloads = settings.workloads
        """The kinds of workloads whose pods form gangs."""

    # -- events and answers -------------------------------------------------------------------------------------------

    def apply(self, kind: str, type: str, found: api.Object) -> None:
        """One watch event; bookmarks and kinds that are not mirrored are ignored."""
        seen = self._seen.get(kind)
        if seen is None:
            return
        key, version = api.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        seen.show(version)
        if type == DELETED:
            matters = seen.delete(key, version) and self._delete(kind, key)
        elif type in UPSERTS:
            matters = seen.admit(key, version) and self._put(kind, key, found)
        else:
            return
        if matters:
            self._events.on_change()

    def written(self, kind: str, found: api.Object) -> None:
        """Take in an object from the API server's answer to a write, so that nobody has to wait for the watch.

        Ignored while a list is under way: the object may have changed again before the list was made.
        """
        seen = self._seen.get(kind)
        if seen is None or seen.is_listing:
            return
        key, version = api.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        if seen.admit(key, version) and self._put(kind, key, found):
            self._events.on_change()

    def is_current(self, kind: str, key: str, resource_version: str) -> bool:
        """Whether a watch has shown everything up to this version of an object, and nothing newer of the object."""
        seen = self._seen.get(kind)
        return seen is not None and seen.is_current(key, as_number(resource_version))

    def shows(self, kind: str, key: str, resource_version: str) -> bool:
        """Whether the last that was seen of an object is this version."""
        seen = self._seen.get(kind)
        return seen is not None and 0 < seen.version(key) == as_number(resource_version)

    # -- lists --------------------------------------------------------------------------------------------------------

    def replace(self, kind: str, objects: Iterable[api.Object]) -> None:
        """A full list of one kind: objects it lacks are gone, and its objects are valid whatever their version."""
        self.restart(kind)
        for found in objects:
            self.include(kind, found)
        for _ in self.finish(kind):
            pass

    def restart(self, kind: str) -> None:
        """A full list of one kind begins: every object by ``include``, then ``finish``; ``apply`` goes on meanwhile.

        It shows all that was written before, such as bindings that were accepted.
        """
        if kind in self._seen:
            self._seen[kind].restart()
        if kind == "Pod":
            self._assumptions.list_begins()
        elif kind == "PodGroup":
            self._stores.groups.list_begins()

    def include(self, kind: str, found: api.Object) -> None:
        """An object of the list under way; ignored if an event about it came since the list began.

        A pod in it without a node was not bound, whatever the answer was.
        """
        seen = self._seen.get(kind)
        if seen is None:
            return
        key, version = api.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        if seen.list(key, version) and self._put(kind, key, found):
            self._events.on_change()
        if isinstance(found, api.Pod) and not found.spec.node_name:
            self._assumptions.listed_unbound(key)

    def finish(self, kind: str) -> Iterator[None]:
        """The list is complete: objects that neither it nor an event showed are deleted, at most one at each step.

        What follows for pods and jobs from short lists is worked out while there are few.
        """
        for key in self._seen[kind].finish() if kind in self._seen else ():
            if self._delete(kind, key):
                self._events.on_change()
            yield
        if kind in SETTLING:
            yield from self._stores.settling_defaults()

    # -- kinds --------------------------------------------------------------------------------------------------------

    def use_workloads(self, table: WorkloadTable) -> frozenset[str]:
        """Use another table of workload kinds; returns the mirrored kinds that have to be listed again for it.

        Kinds that only the table before had are not mirrored any more, and those that are new in it are from now on.
        """
        before, self.workloads = self.workloads, table
        changed = self._stores.gangs.use_table(table)
        kept = {kind.id for kind in table.followed}
        for kind in before.followed:
            if kind.id not in kept:
                self.leave(kind.id)
        again = frozenset(read_again_for(before, table, api.OWNERS) & self._seen.keys())
        for id in again:
            self._seen[id].read_all()
        for kind in table.followed:
            self._seen.setdefault(kind.id, SeenVersions())
        if changed:
            self._events.on_change()
        return again

    def leave(self, kind: str) -> None:
        """A kind is not mirrored any more: its objects are gone, and events about it are ignored."""
        if kind in self._seen:
            self.replace(kind, ())
            del self._seen[kind]

    def set_unread(self, kind: str, why: str) -> None:
        """Say why a kind of object cannot be read, empty where it can."""
        if kind == "HyperNode":
            changed = self._stores.topology.set_problem(why)
        else:
            changed = self._stores.claims.set_unread(kind, why)
        if changed:
            self._events.on_change()

    def set_refused(self, kind: str, *, refused: bool) -> None:
        """Say whether we may not read a kind: then no pod waits for an owner of it."""
        if self._stores.gangs.set_refused(kind, refused=refused):
            self._events.on_change()

    def make_room(self, now: float, ceilings: Iterable[Ceiling]) -> None:
        """Free columns that nothing uses any more, the ceilings included, for resources that found none."""
        if not self._awaiting_columns:
            return
        room, stores = False, self._stores
        if self._awaiting_columns.due(now):
            stores.pods.sweep()
            offered = stores.nodes.columns() | stores.defaults.columns()
            asked = stores.pods.columns() | stores.jobs.columns() | stores.restarts.columns()
            divided = {column for ceiling in ceilings for column in ceiling.most}
            room = stores.axis.keep(offered | asked | divided, offered)
        for kind, key, found in self._awaiting_columns.again(room=room):
            self._put(kind, key, found)

    # -- one object ---------------------------------------------------------------------------------------------------

    def _put(self, kind: str, key: str, found: api.Object) -> bool:
        """Take in an object, or leave it out and note the problem; True where that can matter to scheduling."""
        remarks, problems = list[str](), self._stores.problems
        self._awaiting_columns.drop(kind, key)
        try:
            if isinstance(found, api.Malformed) and kind != api.VCJOB:
                raise BadObject(found.message)
            matters = self._kinds[kind].put(key, found, remarks)
        except UNUSABLE as error:
            self._kinds.leave_out(kind, key, found, error)
            if isinstance(error, NoColumn):
                self._awaiting_columns.put(kind, key, found)
            problems.put_broken(kind, key, found.metadata, api.complaint(kind, found.metadata, error))
            return True
        if isinstance(found, api.Pod) and (found.spec.scheduler_name or "") not in self._settings.scheduler_names:
            problems.put_foreign(key, found)
        elif remarks:
            problems.put_blemished(kind, key, found.metadata, remarks)
        else:
            problems.drop(kind, key)
        return matters

    def _delete(self, kind: str, key: str) -> bool:
        """Forget an object; True where that can matter to scheduling."""
        self._stores.problems.drop(kind, key)
        self._awaiting_columns.drop(kind, key)
        if kind == "Pod":
            self._stores.records.refused.drop(key)
        return self._kinds[kind].drop(key)
