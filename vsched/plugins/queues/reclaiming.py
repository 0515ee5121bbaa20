"""Reclaim with the plugin capacity: which tasks of other queues a queue may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobState, SessionContext
from vsched.framework.points.victims import Keeping, Votes
from vsched.model.amounts.resources import Amounts, Vector, subtract
from vsched.model.pods.task import Task
from vsched.model.queues.queue import ROOT
from vsched.plugins.queues.accounts import Account, Accounts
from vsched.plugins.queues.giving_back import (
    apart,
    columns_of,
    holds_more,
    is_deserved,
    keeps_deserved,
    keeps_guarantee,
)
from vsched.plugins.queues.refusals import Columns, Lacking, asked_for
from vsched.plugins.words import victims


class Reclaiming:
    """What queues may take from each other, by their accounts."""

    def __init__(self, accounts: Accounts, context: SessionContext, level: int) -> None:
        """``level`` says how many queues above a queue may claim back for it what they deserve."""
        self._accounts = accounts
        self._usage = context.usage
        self._job_state = context.job_state
        self._lacking = Lacking(context.nodes)
        self._level = level
        self._columns: dict[str, frozenset[Columns]] = {}
        """The combinations of resources that the tasks of a job use, by job."""

    def votes(self, evictor: Task) -> Votes:
        """Tasks of queues that hold more than they deserve of what the evictor lacks; guarantees have to stay held.

        Both rules hold for the victim's queue and for each queue above it that is not also above the evictor's queue.
        A task that uses no resource its queue deserves may go at any time. No task is a victim where the
        request would take the evictor's queue past what it deserves of the lacking resources. The last victim may take
        its queue below what it deserves of these, unless the queue has to keep that.
        """
        ours, request = self._account_of(evictor), evictor.shape.request
        wanted = asked_for(request)
        if ours is None:
            return Votes.none(victims.QUEUES_HOLD_NO_MORE, depends_on=wanted)
        is_deserving = any(is_deserved(wanted, one) for one in self.claiming(ours))

        def rules_out(job: JobState) -> bool:
            """The evictor requests nothing its queue deserves, or the job's queue can give up nothing its tasks use."""
            theirs = self._accounts.get(job.spec.queue)
            if theirs is None or not is_deserving:
                return True
            looked_at = [(one, one.held(self._usage)) for one in apart(ours, theirs)]
            return not any(self._may_go(used, wanted, ours, looked_at) for used in self._columns_of(job))

        agreed = partial(self._giving_back, ours, request)
        return Votes(agreed, victims.QUEUES_HOLD_NO_MORE, rules_out, wanted, agreed_keeping=agreed)

    def claiming(self, account: Account) -> list[Account]:
        """The queues in whose name a queue may reclaim: itself and its ancestors up to ``ancestorReclaimLevel``."""
        return [account, *(one for one in account.above[: self._level] if one.name != ROOT)]

    def _giving_back(
        self, ours: Account, request: Amounts, candidates: Sequence[Task], keeping: Keeping | None = None
    ) -> list[Task]:
        wanted = self._to_be_taken(ours, request, self._lacking.of(request, candidates[0].node)) if candidates else ()
        left: dict[str, Vector] = {}
        victims = []
        for task in candidates:
            theirs = self._account_of(task)
            if theirs is None:
                continue
            given = task.shape.request
            looked_at = [(one, left.setdefault(one.name, dict(one.held(self._usage)))) for one in apart(ours, theirs)]
            if not all(keeps_guarantee(held, given, one.terms.guarantee) for one, held in looked_at):
                continue
            if not self._may_go(columns_of(given), wanted, ours, looked_at):
                continue
            is_to_keep = keeping is not None and keeping(task)
            if is_to_keep and not all(keeps_deserved(held, given, wanted, one) for one, held in looked_at):
                continue
            victims.append(task)
            for _, amounts in looked_at:
                subtract(amounts, given)
        return victims

    def _account_of(self, task: Task) -> Account | None:
        job = self._job_state(task.job)
        return None if job is None else self._accounts.get(job.spec.queue)

    def _columns_of(self, job: JobState) -> frozenset[Columns]:
        """The combinations of resources that the job's tasks use; computed at the first call."""
        found = self._columns.get(job.key)
        if found is None:
            tasks = (job.job if isinstance(job, JobView) else job).tasks
            requests = {task.shape.request for task in tasks.values()}
            found = self._columns[job.key] = frozenset(columns_of(request) for request in requests)
        return found

    def _to_be_taken(self, ours: Account, request: Amounts, lacked: Columns) -> Columns:
        """The columns of ``lacked`` that may be reclaimed for a request: all of them, or none.

        All of them, if the queue or one of the ancestors that count names a deserved amount for some of them, and the
        request stays within the deserved amount of each one named. Columns without a deserved amount follow the others.
        """
        amounts = dict(request)
        for one in self.claiming(ours):
            deserved, held = one.terms.deserved, one.held(self._usage)
            named = [column for column in lacked if column in deserved]
            if named and all(held.get(column, 0) + amounts[column] <= deserved[column] for column in named):
                return lacked
        return ()

    def _may_go(
        self, used: Columns, wanted: Columns, ours: Account, looked_at: Sequence[tuple[Account, Mapping[int, int]]]
    ) -> bool:
        """Whether a task that uses ``used`` frees some of ``wanted``, and all queues in ``looked_at`` can spare it."""
        given = tuple(column for column in used if column in wanted)
        if not given:
            return False
        theirs = looked_at[0][0]
        if not is_deserved(used, theirs) and not is_deserved(wanted, ours) and self._are_near(ours, theirs):
            return False
        return all(not is_deserved(used, one) or holds_more(given, held, one) for one, held in looked_at)

    def _are_near(self, ours: Account, theirs: Account) -> bool:
        """Whether both queues have a common ancestor other than the root, within ``ancestorReclaimLevel``."""
        near = ours.above[: self._level]
        return any(one in near for one in theirs.above[: self._level] if one.name != ROOT)
