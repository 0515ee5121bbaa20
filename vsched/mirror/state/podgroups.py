"""All PodGroups: as last watched, and over that what was decided: phases, and that a wall time is over.

Changes are passed to the job store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from itertools import chain

import msgspec

from vsched.mirror.state.assumed import AssumedPhases
from vsched.mirror.state.jobs import JobStore
from vsched.mirror.state.resource_versions import SeenVersions, as_number
from vsched.model.jobs.runs import over_of, with_condition
from vsched.model.jobs.spec import Condition, JobSpec
from vsched.model.maps import news
from vsched.model.plan import JobOutcome


class PodGroupStore:
    """Every PodGroup by namespace and name, as last watched."""

    def __init__(self, seen: SeenVersions, jobs: JobStore, on_calm: Callable[[], None]) -> None:
        """``on_calm`` is called for changes that are only to be reported."""
        self._seen = seen
        self._jobs = jobs
        self._on_calm = on_calm
        self._watched: dict[str, JobSpec] = {}
        self._native: dict[str, JobSpec] = {}
        """The native PodGroups that are jobs; what their objects say is read elsewhere."""
        self._phases = AssumedPhases()
        self._over: dict[str, Condition] = {}
        """Conditions about wall times that were decided and that the watch does not show yet."""
        self._assumed: Mapping[str, JobOutcome] = {}
        """The outcomes that were assumed last."""
        self._left_out: Set[str] = frozenset()
        """Those of them that were not, as they had just come."""
        self._came: set[str] = set()
        """Those that came, or took the name of another, after the last snapshot."""

    def adopt(self, groups: Mapping[str, JobSpec]) -> None:
        """Take over the PodGroups that another mirror knows; the store of jobs has them already."""
        for key, spec in groups.items():
            if spec.native is None:
                self._watched[key] = spec
            else:
                self._native[key] = spec

    def enter(self, key: str, phase: str) -> None:
        """A PodGroup has this phase now: for what-if questions, where no watch will ever say so."""
        watched = self._watched.get(key)
        if watched is not None and watched.phase != phase:
            self._watched[key] = msgspec.structs.replace(watched, phase=phase)
            self._show(key)

    def put(self, key: str, watched: JobSpec) -> bool:
        """Take in a PodGroup; True where that can matter to scheduling."""
        before = self._jobs.group(key)
        if before is None or before.uid != watched.uid:
            # What was decided was decided of another object of this name.
            self._came.add(key)
            self._phases.end(key)
            self._over.pop(key, None)
        self._watched[key] = watched
        if key in self._over and _alike(over_of(watched.conditions), self._over[key]):
            del self._over[key]
        self._show(key)
        after = self._jobs.group(key)
        if before is None and watched.made and not self._jobs.has_pending(key):
            self._on_calm()  # it records what is decided already
            return False
        return before is None or (before is not after and after is not None and _asks_otherwise(before, after))

    def put_native(self, key: str, spec: JobSpec | None) -> None:
        """Take in a native PodGroup, None where it is no job any more."""
        if spec is None:
            self._native.pop(key, None)
            self._jobs.set_group(key, None)
            return
        self._native[key] = spec
        if key in self._over and _alike(over_of(spec.conditions), self._over[key]):
            del self._over[key]
        self._show(key)

    def drop_native(self, key: str) -> None:
        """The object of a native PodGroup is gone."""
        self._over.pop(key, None)

    def ask_in_vain(self, spec: JobSpec) -> None:
        """A PodGroup still uses unsupported features, although its new manifest does not name them."""
        key = f"{spec.namespace}/{spec.name}"
        if key in self._watched:
            changed = {"unsupported": spec.unsupported, "wishes": spec.wishes}
            self._watched[key] = msgspec.structs.replace(self._watched[key], **changed)
            self._show(key)

    def drop(self, key: str) -> bool:
        """A PodGroup is gone; True where it was known."""
        self._came.discard(key)
        self._phases.end(key)
        self._over.pop(key, None)
        known = self._watched.pop(key, None) is not None
        self._jobs.set_group(key, None)
        return known

    def shown(self) -> None:
        """A snapshot shows all PodGroups: decisions from now on are about these."""
        self._came.clear()

    def assuming(self, outcomes: Mapping[str, JobOutcome]) -> Iterator[None]:
        """Assume the phases that a cycle decided on the last snapshot, and that wall times are over; in steps."""
        left_out = {key: found for key in self._left_out if (found := outcomes.get(key)) is not None}
        # A change since would have made another one.
        for some in chain((left_out,) if left_out else (), news(self._assumed, outcomes)):
            for key, outcome in some.items():
                self._assume(key, outcome)
                yield
            if not some:  # which takes time as well
                yield
        self._assumed, self._left_out = outcomes, self._came.copy()

    def _assume(self, key: str, outcome: JobOutcome) -> None:
        group = self._jobs.group(key)
        if group is None or key in self._came or not (key in self._watched or key in self._native):
            return
        over = over_of(outcome.conditions) if outcome.conditions else None
        is_over = over is not None and not _alike(over_of(group.conditions), over)
        if over is not None and is_over:
            self._over[key] = over
        if group.native is None and outcome.phase != group.phase:
            self._phases.begin(key, outcome.phase)
        elif not is_over:
            return
        self._show(key)

    def settle(self, outcomes: Mapping[str, JobOutcome]) -> None:
        """Make the phases that a cycle decided true, for what-if simulations."""
        for key, outcome in outcomes.items():
            self.enter(key, outcome.phase)
            over, kind = over_of(outcome.conditions), self._watched if key in self._watched else self._native
            watched = kind.get(key)
            if over is not None and watched is not None and not _alike(over_of(watched.conditions), over):
                kind[key] = msgspec.structs.replace(watched, conditions=with_condition(watched.conditions, over))
                self._show(key)

    def status_written(self, key: str, resource_version: str) -> None:
        """A status was written; ``resource_version`` is empty if unknown."""
        self._phases.written(key, as_number(resource_version) or self._seen.version(key) + 1)
        self._show(key)

    def list_begins(self) -> None:
        """A list of all PodGroups begins."""
        self._phases.list_begins()

    def status_failed(self, key: str) -> bool:
        """A status could not be written: the phase is again as last watched. False where none was assumed."""
        assumed = self._phases.end(key)
        if self._over.pop(key, None) is not None:
            assumed = True
        if assumed:
            self._show(key)
        return assumed

    def uid(self, key: str) -> str:
        """The uid of the object of this key, empty where there is none."""
        group = self._watched.get(key)
        return "" if group is None else group.uid

    @property
    def assumed(self) -> int:
        """PodGroups whose phase the watch does not show yet."""
        return len(self._phases)

    def _show(self, key: str) -> None:
        watched = self._watched.get(key) or self._native.get(key)
        if watched is not None and key in self._over:
            watched = msgspec.structs.replace(watched, conditions=with_condition(watched.conditions, self._over[key]))
        if watched is not None:
            self._jobs.set_group(key, self._phases.overlay(key, watched, self._seen.version(key)))


def _alike(one: Condition | None, other: Condition) -> bool:
    """Whether a condition says the same as another one."""
    return one is not None and (one.status, one.message) == (other.status, other.message)


def _asks_otherwise(before: JobSpec, after: JobSpec) -> bool:
    """Whether a PodGroup changed in more than what is written to its status."""
    return before != msgspec.structs.replace(
        after,
        written_phase=before.written_phase,
        conditions=before.conditions,
        running=before.running,
        succeeded=before.succeeded,
        failed=before.failed,
    )
