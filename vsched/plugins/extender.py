"""extender: asks an external service, over HTTP, what a plugin would decide.

Each verb is a POST of JSON to ``urlPrefix/verb``. A verb that is not configured is not called, and the plugin abstains
there. The thread that decides makes the calls. ``httpTimeout`` bounds each call, and ``cycleTimeout`` all calls of a
cycle together. The event loop never waits for a call.

==================  ==================================================================================================
verb                when it is asked
==================  ==================================================================================================
onSessionOpen       once, before anything is decided
queueOverused       once for each queue with work, before anything is decided; again after other verbs sent an event
jobEnqueueable      once for each waiting job whose turn it is to be admitted
jobEnqueued         when a job is admitted
predicate           once for each kind of pod, for all nodes; then for the nodes that placements have changed
prioritize          likewise; so a node's score must not depend on other nodes
preemptable         for each node that is considered for a preemptor
reclaimable         for each node that is considered for a reclaimer
jobReady            after each placement that may complete a job; again only after the job changed or an event was sent
allocateFunc        after each placement, tentative ones included; an error keeps the job from being ready
deallocateFunc      after each placement that is undone, and each eviction
onSessionClose      once, when the actions have run
==================  ==================================================================================================

Compatible with Volcano: the configuration, the codes and statuses, and the keys around the objects (``task``,
``nodes``, ``job``, ``queue``, ``evictor``, ``evictees``; ``nodeScore``, ``victims``, ``overused``, ``status``,
``errorMessage``). Different: objects are vsched's own plain records, not Volcano's Go structs; one call of
``predicate`` covers many nodes (``nodes`` in, ``nodes`` by name out); calls are about kinds of pods, without pod names.

If the extender does not answer: an ignorable one is skipped; one that is not ignorable blocks nodes, jobs and queues.
vsched does not copy three defects of Volcano. If a call about victims to an ignorable extender fails, the plugin
abstains (in Volcano, the tier then has no victims). If jobReady fails, the job is not ready unless the extender is
ignorable (in Volcano, the other way round). If onSessionOpen fails and the extender is not ignorable, it counts as not
answering for the whole cycle (in Volcano, it is skipped).
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
from vsched.plugins.callouts.asking import ExtenderCalls, NoAnswer
from vsched.plugins.callouts.payloads import (
    CalloutVerdict,
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
    VictimsAnswer,
    VictimsRequest,
)
from vsched.plugins.callouts.wording import Wording
from vsched.plugins.words import nodes

__all__ = ["Extender", "ExtenderArgs"]

REJECTED = Refusal("ExtenderRejected", nodes.REJECTED, code=Code.REFUSED)
FAILED = "ExtenderFailed"

ALL_NODES = ""
"""The key of a verdict on all nodes; no node has this name."""


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
    """Forwards each decision to the extender, if its verb is configured."""

    name = "extender"
    asks_outside = True
    args_type = ExtenderArgs

    def open(self, context: SessionContext) -> None:
        """Send ``onSessionOpen``, and ask ``queueOverused`` for each queue with work."""
        args, axis = self.args, context.nodes.axis
        self._line = ExtenderCalls(args.endpoint, context.callout)
        self._wording = Wording(context)
        self._names = context.nodes.statics.names
        self._managed = frozenset(axis.find(name) for name in args.managed_resources)
        """Columns of the managed resources; None stands for a resource that no object names, so no pod requests it."""
        self._kinds: dict[PodLabels, PodLabels] = {}
        self._moved: list[int] = []
        """Rows of nodes that placements changed, in order."""
        self._verdicts = NodeAnswers(len(self._names), self._moved, Verdicts)
        self._scores = NodeAnswers(len(self._names), self._moved, Scores)
        self._events = 0
        """How many events were sent to the extender; each may change its answers."""
        self._overused: dict[str, tuple[int, bool]] = {}
        self._ready: dict[str, tuple[tuple[int, ...], bool]] = {}
        self._unheard: dict[str, set[str]] = {}
        """By job: uids of tasks whose placement the extender did not accept."""
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
        """Send ``onSessionClose``."""
        if self.args.session_close_verb:
            self._notify(self.args.session_close_verb, EmptyRequest())

    def _notify(self, verb: str, request: msgspec.Struct) -> None:
        """Send an event; a failure is ignored."""
        self._events += 1
        with suppress(NoAnswer):
            self._line.tell(verb, request)

    def _manages(self, shape: Shape) -> bool:
        managed = self._managed
        return not self.args.managed_resources or any(column in managed for column, _ in shape.request)

    # -- queues and jobs ----------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> bool:
        """The extender's answer; without an answer True, unless the extender is ignorable."""
        if not self.args.queue_overused_verb:
            return False
        known = self._overused.get(queue.name)
        if known is None or known[0] != self._events:
            request = QueueRequest(self._wording.queue(queue))
            try:
                answer = self._line.ask(self.args.queue_overused_verb, request, OverusedAnswer).overused
            except NoAnswer:
                answer = not self.args.ignorable
            known = self._overused[queue.name] = (self._events, answer)
        return known[1]

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """The extender's answer; without an answer, Permit if the extender is ignorable, else a refusal."""
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
        """Send ``jobEnqueued``."""
        if self.args.job_enqueued_verb:
            self._notify(self.args.job_enqueued_verb, JobRequest(self._wording.job(job)))

    def job_ready(self, job: JobView) -> bool:
        """The extender's answer; False while it has not accepted all placements of the job."""
        if job.key in self._unheard:
            return False
        if not self.args.job_ready_verb:
            return True
        state = (job.ready, job.waiting, job.pending_count, self._events)
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

    def task_class(self, task: Task) -> Hashable:
        """Namespace and labels, without labels that only number pods; None where the extender is not asked."""
        return self._kind_of(task.labels) if self.args.predicate_verb and self._manages(task.shape) else None

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """True if the extender is asked about such a pod: its answers may change with placements."""
        return task_class is not None

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """One check for each reason that the extender gave; it is asked again only about nodes that changed."""
        if not isinstance(task_class, PodLabels):
            return ()
        kind = task_class

        def ask(verdicts: Verdicts, rows: Sequence[int]) -> None:
            found = self._verdicts_on(self._request(shape, kind, rows))
            for row in rows:
                verdicts.set(row, found.get(self._names[row], found.get(ALL_NODES)))

        return self._verdicts.of((shape, kind), ask).checks()

    def _verdicts_on(self, request: NodesRequest) -> Mapping[str, CalloutVerdict]:
        """Verdicts by node name; ``ALL_NODES`` holds for all nodes without an entry."""
        try:
            answer = self._line.ask(self.args.predicate_verb, request, NodesAnswer)
        except NoAnswer as failure:
            return {} if self.args.ignorable else {ALL_NODES: CalloutVerdict(str(failure))}
        if answer.error_message:
            return {ALL_NODES: CalloutVerdict(answer.error_message)}
        return answer.nodes or {}

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """Always 0: the extender's scores also depend on labels, so they come from ``relative_score``."""
        return 0.0

    def is_relative(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether the extender is asked for scores of such a pod."""
        return bool(self.args.prioritize_verb) and self._manages(shape)

    def relative_score(self, shape: Shape, labels: PodLabels, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """The extender's scores; 0 for all nodes without an answer, ignorable or not."""
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
        """The victims the extender names; without an answer none, or an abstention if the extender is ignorable.

        An evicted evictor counts as able to take its place back from any task: the extender is not asked about that.
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
        """Send ``allocateFunc``; a placement that the extender does not accept keeps the job from being ready."""
        self._touch(row)
        if not self.args.allocate_verb or not self._manages(task.shape):
            return
        self._events += 1
        try:
            answer = self._line.ask(self.args.allocate_verb, self._placement(job, task, row), CalloutVerdict)
            unheard = bool(answer.error_message)
        except NoAnswer:
            unheard = not self.args.ignorable
        if unheard:
            self._unheard.setdefault(job.key, set()).add(task.uid)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Send ``deallocateFunc``, whether the extender accepted the placement or not."""
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
