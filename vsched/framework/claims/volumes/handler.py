"""The volume claims of tasks in one session: the ``ClaimHandler`` of volumes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from vsched.framework.claims.handler import ONE_WAY, ClaimRoom, ClaimRules, ClaimWays, Unfit
from vsched.framework.claims.volumes.arranging import Arranged, TriesLeft, arrange, arrangements, is_possible
from vsched.framework.claims.volumes.attached import AttachedVolumes, AttachStep
from vsched.framework.claims.volumes.limits import VolumeLimits
from vsched.framework.claims.volumes.names import Attachable
from vsched.framework.claims.volumes.once import OncePodClaims
from vsched.framework.claims.volumes.reaching import Reaching
from vsched.framework.claims.volumes.room import rooms
from vsched.framework.claims.volumes.scoring import VolumeScores
from vsched.framework.claims.volumes.static import VolumeNeed
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.storages import Storages
from vsched.framework.claims.volumes.wants import Resolver, WantedClaim, Wants
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal
from vsched.framework.words.nodes import NO_STORAGE, NO_VOLUMES, TOO_MANY_VOLUMES
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.claims.plan import ClaimPlan, VolumeChoice
from vsched.model.claims.volumes import ONCE_POD
from vsched.model.nodes.table import Floats, NodeStatics, NodeTable
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot


def volume_handler(snapshot: Snapshot, nodes: NodeTable, rules: ClaimRules) -> VolumeHandler | None:
    """The volumes of a session; None where the policy has all checks of volumes off."""
    if not (rules.volume_binding or rules.volume_zones or rules.volume_limits):
        return None
    return VolumeHandler(snapshot.claims.volumes, nodes.statics, rules)


Taken = tuple[Arranged, ...]
"""The choices for the claims of a placed task that wait for their first pod, made with it or before it. What else it
has follows from what it wants."""


class ReachChecks:
    """The checks by what nodes reach and by what is free there, and whether they are current."""

    __slots__ = ("_storages", "_version", "checks")

    def __init__(self, storages: Sequence[ClassStorage]) -> None:
        """``storages`` is what the checks depend on."""
        self.checks: list[Check] = []
        self._storages = storages
        self._version = -1

    def is_stale(self) -> bool:
        """Whether the checks have to be made again; the caller does so at once."""
        version = 0
        for storage in self._storages:
            version += storage.version
        stale, self._version = version != self._version, version
        return stale


class ClassClaims(NamedTuple):
    """What is known of tasks of one class."""

    waiting: Sequence[WantedClaim]
    """The claims that wait for their first pod, and that nothing is chosen for."""
    once: Sequence[str]
    """The claims that one pod may use at a time, and some pod does."""
    reached: ReachChecks
    exact: bool


ANSWERS_MAX = 256
"""The most classes whose answers a session caches; the oldest is dropped first."""


class VolumeHandler:
    """Which nodes can serve the volume claims of tasks, and what this session chose for them (a ``ClaimHandler``)."""

    def __init__(self, catalogue: VolumeCatalogue, statics: NodeStatics, rules: ClaimRules) -> None:
        self._evicted: set[str] = set()
        self._taken: dict[str, Taken] = {}
        self._users: dict[str, int] = {}
        """By claim: how many tasks that this session placed use it."""
        self._chosen: dict[str, Arranged] = {}
        """By claim: the choice of this session."""
        self._answers: dict[Hashable, ClassClaims] = {}
        self._asked: tuple[Task, ClassClaims] | None = None
        """The last task that was asked about, since the last step."""
        self._tries = TriesLeft()
        self._storages = Storages(catalogue, statics)
        self._attached = AttachedVolumes(catalogue, statics)
        self._resolver = Resolver(catalogue, rules, self._storages.of, self._attached)
        self._once = OncePodClaims(catalogue.users, statics, self._evicted)
        self._limits = VolumeLimits(self._attached, self._storages, self._chosen)
        self._reaching = Reaching(self._storages, statics, self._chosen)
        scoring = rules.scoring
        self._scores = VolumeScores(self._storages, scoring, len(statics)) if scoring and scoring.weight else None

    def concerns(self, task: Task) -> bool:
        """Whether the task has volume claims."""
        return task.claims is not None and bool(task.claims.volumes)

    def obstacle(self, task: Task) -> Refusal | None:
        """Why no node can serve the task: a claim is missing, lost, being deleted, not its own, or not bound yet."""
        found = self._resolver.of(task)
        return found if isinstance(found, Refusal) else None

    def class_of(self, task: Task) -> Hashable:
        """The contents of the claims, and of claims that tasks of this session use also the name and the choice."""
        return self._class_of(self._wants(task))

    def checks(self, task: Task) -> Sequence[Check]:
        """The nodes that can serve the claims, in the order of kube-scheduler's filters."""
        answers = self._answers_for(task)
        wants = self._wants(task)
        if answers.reached.is_stale():
            answers.reached.checks = self._reaching.checks(wants)
        limits = self._limits.checks(wants)
        if answers.once:
            limits = [*(check for claim in answers.once for check in self._once.checks(claim)), *limits]
        return [*limits, *answers.reached.checks] if limits else answers.reached.checks

    def is_exact(self, task: Task) -> bool:
        """Whether no two claims of the task compete, and each takes the same of the limits wherever it goes."""
        return self._answers_for(task).exact

    def fits(self, task: Task, row: int, *, later: bool) -> bool:
        """Whether each claim can have a volume on the row that no other one gets, and the node can attach them."""
        wants = self._wants(task)
        if not all(self._once.is_free(claim, later=later) for claim in self._answers_for(task).once):
            return False
        if not self._reaching.fits(wants, row):
            return False
        return next(self._arrangements(wants, row, self._tries, later=later), None) is not None

    def unfit(self, task: Task) -> Unfit:
        """Claims that would get the same volume or the same storage, or more volumes than the node can attach."""
        waiting = self._waiting(self._wants(task))
        storages = [self._storages.of(need.storage_class) for one in waiting if (need := one.content.need) is not None]
        if self._storages.are_apart(waiting):
            return Unfit(TOO_MANY_VOLUMES, Code.VOLUMES)
        if any(one.provisions and one.segments is not None for one in storages):
            return Unfit(NO_STORAGE, Code.VOLUMES)
        return Unfit(NO_VOLUMES, Code.VOLUMES)

    def limits(self, task: Task) -> Sequence[ClaimRoom]:
        """How many tasks with such claims of their own could be placed."""
        wants = self._wants(task)
        own = [one for one in wants.claims if one.claim.key not in self._users]
        return [*self._limits.room(own), *rooms(self._storages, self._waiting(wants))]

    def score(self, task: Task) -> Floats | None:
        """By how full the storage would be that the claims get, where the policy asks for it."""
        if self._scores is None:
            return None
        waiting = self._answers_for(task).waiting
        return self._scores.of(waiting) if waiting else None

    def ways(self, task: Task, row: int, *, later: bool, beside: Sequence[Task], most: int) -> ClaimWays:
        """The volumes that the claims may get on the row; of those that are alike for tasks like these, one."""
        wants = self._wants(task)
        if not self._waiting(wants):
            return ONE_WAY
        claims = [one for other in beside for one in self._wants(other).claims]
        needs = list(dict.fromkeys(one.content.need for one in claims if one.content.need is not None))
        found = tuple(islice(self._arrangements(wants, row, self._tries, needs, later=later), most))
        return ClaimWays(found or (None,), len(found) < most)

    # -- steps ------------------------------------------------------------------------------------------------------

    def take(self, task: Task, row: int, way: object = None, *, later: bool) -> None:
        """Choose volumes for the claims that wait, and count all volumes on the row."""
        wants = self._wants(task)
        arranged = self._preferred(way, wants, row)
        if arranged is None and not self.is_exact(task):
            # With as many tries as on any node, so that what ``fits`` found is found again.
            arranged = next(self._arrangements(wants, row, TriesLeft(), later=later), None)
        if arranged is None:
            arranged = arrange(self._storages, self._resolver.names, self._waiting(wants), row)
        assert arranged is not None, f"no volumes for {task.key} on node row {row}"
        if wants.kind.waits and self._chosen:
            before = [self._chosen[one.claim.key] for one in wants.claims if one.claim.key in self._chosen]
            arranged = (*arranged, *before)
        self._put(task, wants, row, arranged)

    def give_back(self, task: Task, row: int) -> None:
        """The volumes of the task are free again, and claims are without a choice that nobody else uses."""
        self._remove(task, row)

    def withdraw(self, task: Task, row: int) -> object:
        """As ``give_back``; a choice that other tasks use stays."""
        return self._remove(task, row)

    def reinstate(self, task: Task, row: int, had: object) -> None:
        """The task has again what it had."""
        assert isinstance(had, tuple)
        self._put(task, self._wants(task), row, had)

    def evict(self, task: Task, row: int) -> None:
        """The node can attach other volumes later, and claims for one pod are free later. Choices stay."""
        self._evicted.add(task.uid)
        self._leave(task, row, -1)

    def restore(self, task: Task, row: int) -> None:
        """The task stays."""
        self._evicted.remove(task.uid)
        self._leave(task, row, 1)

    def plan(self, task: Task) -> ClaimPlan | None:
        """What was chosen for the claims that wait, each of which must be bound before the pod is."""
        taken = self._taken.get(task.uid)
        if taken is None:
            return None
        choices = [VolumeChoice(one.claim, one.uid, one.volume) for one in taken]
        wants = self._wants(task)
        if wants.kind.given:
            given = [one.claim for one in wants.claims if one.content.given]
            choices = [*(VolumeChoice(claim.key, claim.uid, claim.volume) for claim in given), *choices]
        if not choices:
            return None
        return ClaimPlan(volumes=tuple(choices), wait=tuple([one.claim for one in choices]))

    # -- what is known ------------------------------------------------------------------------------------------------

    def _wants(self, task: Task) -> Wants:
        found = self._resolver.of(task)
        assert not isinstance(found, Refusal), f"{task.key} cannot be placed: {found.message}"
        return found

    def _class_of(self, wants: Wants) -> Hashable:
        users = self._users
        if users:
            shared = [(key, self._chosen.get(key)) for one in wants.claims if (key := one.claim.key) in users]
            if shared:
                return (wants.kind.number, *shared)
        return wants.kind.number

    def _answers_for(self, task: Task) -> ClassClaims:
        if self._asked is not None and self._asked[0] is task:
            return self._asked[1]
        wants = self._wants(task)
        key = self._class_of(wants)
        found = self._answers.get(key)
        if found is None:
            waiting, once = self._waiting(wants), self._in_use(wants)
            exact = self._storages.are_apart(waiting) and all(self._limits.is_certain(one) for one in waiting)
            reached = ReachChecks(self._storages.used_by(waiting))
            if len(self._answers) >= ANSWERS_MAX:
                del self._answers[next(iter(self._answers))]
            found = self._answers[key] = ClassClaims(waiting, once, reached, exact)
        self._asked = (task, found)
        return found

    def _waiting(self, wants: Wants) -> list[WantedClaim]:
        """The claims that wait for their first pod, without those that this session chose something for."""
        if not wants.kind.waits:
            return []
        return [one for one in wants.claims if one.content.need is not None and one.claim.key not in self._chosen]

    def _in_use(self, wants: Wants) -> list[str]:
        """The claims that one pod may use at a time, and some pod does."""
        users = self._users
        return [
            one.claim.key
            for one in wants.claims
            if one.content.once or (ONCE_POD in one.claim.modes and one.claim.key in users)
        ]

    def _arrangements(
        self, wants: Wants, row: int, tries: TriesLeft, beside: Sequence[VolumeNeed] = (), *, later: bool
    ) -> Iterator[Taken]:
        """What the claims that wait may get on the row, of what the node can attach."""
        for found in arrangements(self._storages, self._resolver.names, self._waiting(wants), row, tries, beside):
            if self._limits.fits(wants, row, found, later=later):
                yield found

    def _preferred(self, way: object, wants: Wants, row: int) -> Taken | None:
        """What the claims are to get on the row; None where that is open, or cannot be had."""
        if way is None:
            return None
        assert isinstance(way, tuple)
        return way if is_possible(self._storages, self._resolver.names, self._waiting(wants), row, way) else None

    def _put(self, task: Task, wants: Wants, row: int, taken: Taken) -> None:
        self._asked = None
        self._taken[task.uid] = taken
        for one in taken:
            if one.claim not in self._chosen:
                self._chosen[one.claim] = one
                self._storages.shift(one, 1)
        users = self._users
        for wanted in wants.claims:
            key = wanted.claim.key
            users[key] = users.get(key, 0) + 1
        for key in wants.for_one_pod:
            self._once.come(key, row)
        self._attached.shift(AttachStep(row, self._names(wants, taken), 1, 1))

    def _remove(self, task: Task, row: int) -> Taken:
        self._asked = None
        taken, wants = self._taken.pop(task.uid), self._wants(task)
        self._attached.shift(AttachStep(row, self._names(wants, taken), -1, -1))
        for key in wants.for_one_pod:
            self._once.go(key, row)
        users = self._users
        for wanted in wants.claims:
            key = wanted.claim.key
            users[key] -= 1
            if not users[key]:
                del users[key]
        for one in taken:
            if one.claim not in users:
                del self._chosen[one.claim]
                self._storages.shift(one, -1)
        return taken

    def _names(self, wants: Wants, taken: Taken) -> list[Attachable]:
        """The volumes that a node attaches for a task that has these choices, each once."""
        names = [one.name for one in wants.claims]
        if taken:
            chosen = {one.claim: one.name for one in taken}
            names = [chosen.get(one.claim.key, one.name) for one in wants.claims]
        if len(names) > 1:
            names = list(dict.fromkeys(names))
        return [name for name in names if name is not None]

    def _leave(self, task: Task, row: int, by: int) -> None:
        self._asked = None
        for key in self._resolver.once_of(task):
            self._once.shift(key, by)
        self._attached.shift(AttachStep(row, self._resolver.names.of_task(task), 0, by))
