"""extender: asks a service outside, over HTTP, what a plugin would decide (reference 4.20).

Each verb is asked by POST of JSON to ``urlPrefix/verb``; a verb that is not configured is not asked, and the plugin
has no opinion there. Calls are made in the thread that decides, each bounded by ``httpTimeout`` and all of a cycle
together by ``cycleTimeout``; the event loop never waits for one.

==================  ==================================================================================================
verb                when it is asked
==================  ==================================================================================================
onSessionOpen       once, before anything is decided
queueOverused       once for each queue with work, before anything is decided; again after events were told
jobEnqueueable      once for each waiting job whose turn it is to be admitted
jobEnqueued         when a job is admitted
predicate           once for each kind of pod, for all nodes; then for the nodes that placements have changed
prioritize          likewise; so scores are a node's own, not relative to other nodes
preemptable         for each node that is looked at on behalf of a preemptor
reclaimable         for each node that is looked at on behalf of a reclaimer
jobReady            after each placement that may complete a job; again only once the job or what was told has changed
allocateFunc        after each placement, tentative ones included; an error keeps the job from being ready
deallocateFunc      after each placement that is taken back, and each eviction
onSessionClose      once, when the actions have run
==================  ==================================================================================================

Compatible with Volcano: the configuration, the codes and statuses, and the keys around the objects (``task``,
``nodes``, ``job``, ``queue``, ``evictor``, ``evictees``; ``nodeScore``, ``victims``, ``overused``, ``status``,
``errorMessage``). Different: objects are vsched's own plain records, not Volcano's Go structs; ``predicate`` is asked
for many nodes at a time (``nodes`` in, ``nodes`` by name out); pods are asked about by kind, without their names.

Where there is no answer: an ignorable extender is passed over, one that is not keeps nodes, jobs and queues from being
used. Three accidents of Volcano's are not repeated: an ignorable failure about victims abstains (there, it empties the
tier), a failure of jobReady holds a job back unless ignorable (there, the other way round), and where the opening of
the session is not heard, an extender that is not ignorable counts as silent (there, it is passed over).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import (
    CycleEnd,
    JobEnqueueable,
    JobEnqueued,
    JobReady,
    Overused,
    PlacementListener,
    Plugin,
    SessionContext,
    Vote,
)
from vsched.framework.points.nodes import Check, NodeFilter, NodeScore
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.framework.refusal import Refusal
from vsched.model.nodes.table import Floats, Mask, NodeTable
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins.callouts.answers import NodeAnswers, Scores, Verdicts, unnumbered
from vsched.plugins.callouts.args import ExtenderArgs
from vsched.plugins.callouts.asking import Line, NoAnswer
from vsched.plugins.callouts.payloads import (
    EmptyRequest,
    JobRequest,
    NodesAnswer,
    NodesRequest,
    OverusedAnswer,
    QueueRequest,
    ReadyAnswer,
    ScoresAnswer,
    StatusAnswer,
    TaskRequest,
    Verdict,
    VictimsAnswer,
    VictimsRequest,
)
from vsched.plugins.callouts.wording import Wording

__all__ = ["Extender", "ExtenderArgs"]

REJECTED = Refusal("ExtenderRejected", "the extender rejected it", code=Code.REFUSED)
FAILED = "ExtenderFailed"

ALL_NODES = ""
"""No node has this name."""


class Extender(
    Plugin[ExtenderArgs],
    NodeFilter,
    NodeScore,
    Preemptable,
    Reclaimable,
    Overused,
    JobEnqueueable,
    JobEnqueued,
    JobReady,
    PlacementListener,
    CycleEnd,
):
    """Puts what it is asked to the extender, verb by verb."""

    name = "extender"
    asks_outside = True
    args_type = ExtenderArgs

    def open(self, context: SessionContext) -> None:
        """Tell the extender of the session, and ask it about the queues that have work."""
        args, axis = self.args, context.nodes.axis
        self._line = Line(args.endpoint, context.callout)
        self._wording = Wording(context)
        self._names = context.nodes.statics.names
        self._managed = frozenset(axis.find(name) for name in args.managed_resources)
        """Columns; a resource that nothing has named yet is asked for by no pod."""
        self._kinds: dict[PodLabels, PodLabels] = {}
        self._moved: list[int] = []
        """Rows that placements changed, in order."""
        self._verdicts = NodeAnswers(len(self._names), self._moved, Verdicts)
        self._scores = NodeAnswers(len(self._names), self._moved, Scores)
        self._told = 0
        """How often the extender was told of something that may change its mind."""
        self._overused: dict[str, tuple[int, bool]] = {}
        self._ready: dict[str, tuple[tuple[int, ...], bool]] = {}
        self._unheard: dict[str, set[str]] = {}
        """Tasks whose placement the extender did not take note of: uids by job."""
        self._open_session(context)
        if args.queue_overused_verb:
            for name in sorted({job.queue for job in context.jobs.values()}):
                self.overused(context.snapshot.queues[name])

    def _open_session(self, context: SessionContext) -> None:
        if not self.args.session_open_verb:
            return
        try:
            self._line.tell(self.args.session_open_verb, self._wording.session(context))
        except NoAnswer:
            if not self.args.ignorable:
                self._line.hang_up()

    def end_cycle(self) -> None:
        """Tell the extender that the session is over."""
        if self.args.session_close_verb:
            self._notify(self.args.session_close_verb, EmptyRequest())

    def _notify(self, verb: str, request: msgspec.Struct) -> None:
        """Say something that changes nothing here, whether it is heard or not."""
        self._told += 1
        with suppress(NoAnswer):
            self._line.tell(verb, request)

    def _manages(self, shape: Shape) -> bool:
        managed = self._managed
        return not self.args.managed_resources or any(column in managed for column, _ in shape.request)

    # -- queues and jobs ----------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> bool:
        """As the extender says; where it does not answer, unless it is ignorable."""
        if not self.args.queue_overused_verb:
            return False
        known = self._overused.get(queue.name)
        if known is None or known[0] != self._told:
            request = QueueRequest(self._wording.queue(queue))
            try:
                answer = self._line.ask(self.args.queue_overused_verb, request, OverusedAnswer).overused
            except NoAnswer:
                answer = not self.args.ignorable
            known = self._overused[queue.name] = (self._told, answer)
        return known[1]

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """As the extender says; where it does not answer, a permission if it is ignorable, else a refusal."""
        if not self.args.job_enqueueable_verb:
            return Vote.ABSTAIN
        request = JobRequest(self._wording.job(job))
        try:
            status = self._line.ask(self.args.job_enqueueable_verb, request, StatusAnswer).status
        except NoAnswer as failure:
            return Vote.PERMIT if self.args.ignorable else Refusal(FAILED, str(failure), code=Code.REFUSED)
        if status < 0:
            return REJECTED
        return Vote.PERMIT if status else Vote.ABSTAIN

    def job_enqueued(self, job: JobView) -> None:
        """Tell the extender."""
        if self.args.job_enqueued_verb:
            self._notify(self.args.job_enqueued_verb, JobRequest(self._wording.job(job)))

    def job_ready(self, job: JobView) -> bool:
        """As the extender says, once it has taken note of every placement."""
        if job.key in self._unheard:
            return False
        if not self.args.job_ready_verb:
            return True
        state = (job.ready, job.waiting, job.pending_count, self._told)
        known = self._ready.get(job.key)
        if known is None or known[0] != state:
            request = JobRequest(self._wording.job(job))
            try:
                answer = self._line.ask(self.args.job_ready_verb, request, ReadyAnswer).status
            except NoAnswer:
                answer = self.args.ignorable
            known = self._ready[job.key] = (state, answer)
        return known[1]

    # -- nodes --------------------------------------------------------------------------------------------------

    def task_class(self, shape: Shape, labels: PodLabels) -> Hashable:
        """Namespace and labels, but for those that only number pods; None where the extender is not asked."""
        return self._kind_of(labels) if self.args.predicate_verb and self._manages(shape) else None

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whatever the extender is asked about may change with placements."""
        return task_class is not None

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """One check for each reason that the extender gave; only nodes that have changed are asked about again."""
        if not isinstance(task_class, PodLabels):
            return ()
        kind = task_class

        def ask(verdicts: Verdicts, rows: Sequence[int]) -> None:
            found = self._verdicts_on(self._request(shape, kind, rows))
            for row in rows:
                verdicts.set(row, found.get(self._names[row], found.get(ALL_NODES)))

        return self._verdicts.of((shape, kind), ask).checks()

    def _verdicts_on(self, request: NodesRequest) -> Mapping[str, Verdict]:
        """By node; what holds for all others stands under ``ALL_NODES``."""
        try:
            answer = self._line.ask(self.args.predicate_verb, request, NodesAnswer)
        except NoAnswer as failure:
            return {} if self.args.ignorable else {ALL_NODES: Verdict(str(failure))}
        if answer.error_message:
            return {ALL_NODES: Verdict(answer.error_message)}
        return answer.nodes or {}

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """All scores are relative ones: they depend on labels too."""
        return 0.0

    def is_relative(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether the extender is asked for scores of such a pod."""
        return bool(self.args.prioritize_verb) and self._manages(shape)

    def relative_score(self, shape: Shape, labels: PodLabels, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """The extender's scores; none from one that does not answer, ignorable or not."""
        if not self.is_relative(shape, labels):
            return None
        kind = self._kind_of(labels)

        def ask(scores: Scores, rows: Sequence[int]) -> None:
            try:
                request = self._request(shape, kind, rows)
                answer = self._line.ask(self.args.prioritize_verb, request, ScoresAnswer)
            except NoAnswer:
                answer = ScoresAnswer()
            found = answer.node_score or {}
            for row in rows:
                scores.set(row, None if answer.error_message else found.get(self._names[row]))

        return self._scores.of((shape, kind), ask).values

    def _request(self, shape: Shape, kind: PodLabels, rows: Sequence[int]) -> NodesRequest:
        return NodesRequest(self._wording.kind(shape, kind), [self._wording.node(row) for row in rows])

    def _kind_of(self, labels: PodLabels) -> PodLabels:
        kind = self._kinds.get(labels)
        if kind is None:
            kind = self._kinds[labels] = unnumbered(labels)
        return kind

    # -- victims ------------------------------------------------------------------------------------------------

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        """Those the extender names; where it does not answer, none, or no opinion if it is ignorable.

        What is freed for one that the extender has a say about may be taken back by any other.
        """
        verb = self.args.preemptable_verb if purpose is Purpose.PREEMPT else self.args.reclaimable_verb
        if not verb or not self._manages(evictor.shape):
            return None
        return Votes(lambda candidates: self._victims(verb, evictor, candidates), regains=lambda taker: True)

    def _victims(self, verb: str, evictor: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        said = [self._wording.task(task, task.status, task.node) for task in candidates]
        request = VictimsRequest(self._wording.task(evictor, evictor.status, evictor.node), said)
        try:
            answer = self._line.ask(verb, request, VictimsAnswer)
        except NoAnswer:
            return None if self.args.ignorable else ()
        if not answer.status:
            return None
        agreed = {victim.uid or victim.go_uid for victim in answer.victims or ()} if answer.status > 0 else set()
        return [task for task in candidates if task.uid in agreed]

    # -- placements ---------------------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Tell the extender; what it does not take note of keeps the job from being ready."""
        self._touch(row)
        if not self.args.allocate_verb or not self._manages(task.shape):
            return
        self._told += 1
        try:
            answer = self._line.ask(self.args.allocate_verb, self._placement(job, task, row), Verdict)
            unheard = bool(answer.error_message)
        except NoAnswer:
            unheard = not self.args.ignorable
        if unheard:
            self._unheard.setdefault(job.key, set()).add(task.uid)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Tell the extender, whether it took note of the placement or not."""
        self._touch(row)
        unheard = self._unheard.get(job.key)
        if unheard is not None:
            unheard.discard(task.uid)
            if not unheard:
                del self._unheard[job.key]
        if self.args.deallocate_verb and self._manages(task.shape):
            self._notify(self.args.deallocate_verb, self._placement(job, task, row))

    def _touch(self, row: int) -> None:
        self._moved.append(row)
        self._wording.moved(row)

    def _placement(self, job: JobView, task: Task, row: int) -> TaskRequest:
        status = job.moved[task.uid][0] if task.uid in job.moved else task.status
        return TaskRequest(self._wording.task(task, status, self._names[row]))
