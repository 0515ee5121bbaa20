"""The verdict about each pod that a cycle did not place: a reason in one word, and a message."""

from __future__ import annotations

from collections.abc import Set

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.lifting import NODES_HELP
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.obstacles import UNSUPPORTED
from vsched.framework.refusal import Refusal
from vsched.framework.reports.last import NOBODY, LastReport, PodText, PodTexts, Verdicts
from vsched.framework.reports.limits import UnschedulableReason
from vsched.framework.reports.pending_pods import refusal_of, set_apart, set_back, with_refusal
from vsched.framework.reports.plain import PlainJobs
from vsched.framework.reports.scaling import ScaleUp, sizes
from vsched.framework.reports.unschedulable import UnschedulableReasons
from vsched.framework.session import Session
from vsched.framework.starting import PIPELINED
from vsched.framework.subgroups import Composite
from vsched.framework.times import clock
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import none_available
from vsched.model.claims.plan import NOT_HAD
from vsched.model.jobs.advice import headline_of
from vsched.model.jobs.job import Job
from vsched.model.jobs.native import title_of
from vsched.model.jobs.provisioning import told
from vsched.model.plan import PROVISIONING, SCHEDULABLE, UNDETERMINED, UNSCHEDULABLE, JobOutcome, Unschedulable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot


def with_refused(session: Session, view: JobView, found: Verdicts) -> Verdicts:
    """The same, with the verdicts about tasks that have a node, and are refused their binding."""
    refused = set_back(session, view, (Status.BINDING,))
    if not refused:
        return found
    return {**found, **{task.key: _refused(task, session.snapshot.setbacks[task.uid]) for task in refused}}


def _refused(task: Task, message: str) -> Unschedulable:
    """The verdict about a task that has a node which the API server does not let it have."""
    code = Code.CLAIM if message.startswith(NOT_HAD) else Code.BINDING
    return Unschedulable(task.uid, task.namespace, task.name, task.job, code, message, {code.value: 1})


def verdicts(
    waiting: UnschedulableReasons,
    view: JobView,
    outcome: JobOutcome,
    bound: Set[str],
    scale_up: ScaleUp,
    last: LastReport,
    plain: PlainJobs,
) -> Verdicts:
    """Why each pending task that this cycle did not bind is unschedulable."""
    found, wanted = plain.get(view.key), sizes(view, scale_up)
    if found is not None and wanted is not None and (known := last.repeated(plain, found, outcome, wanted)) is not None:
        return known
    last.forget(view.key)
    if not view.pending_count and not view.waiting:
        if found is not None and wanted is not None:
            last.note(found, outcome, wanted, {})
        return {}
    of_job = _JobVerdicts(waiting, view, outcome, scale_up)
    together = of_job.of_all()
    if together is not None:
        all_of_them = last.of(view.job, together)
        if found is not None and wanted is not None:
            last.note(found, outcome, wanted, all_of_them)
        return all_of_them
    one_by_one: Verdicts = {}
    for uid, task in view.job.pending.items():
        if task.unsupported:
            text = PodText(UNSUPPORTED, task.unsupported, {UNSUPPORTED: 1})
        elif uid in bound or task.gated:
            continue
        else:
            text = of_job.of(uid, task)
        one_by_one[f"{task.namespace}/{task.name}"] = Unschedulable(uid, task.namespace, task.name, view.key, *text)
    return one_by_one


class _JobVerdicts:
    """The verdicts about the pods of one job. Pods without refusals of their own all have the same one."""

    def __init__(self, waiting: UnschedulableReasons, view: JobView, outcome: JobOutcome, scale_up: ScaleUp) -> None:
        self._waiting, self._session = waiting, waiting.session
        self._view, self._outcome, self._scale_up = view, outcome, scale_up
        self._gang = headline_of(outcome.message)
        self._known: dict[tuple[str, bool, bool], PodText] = {}
        """The verdict about pods without a refusal of their own: by what they wait for, and by who asks for nodes."""

    def of_all(self) -> PodTexts | None:
        """The verdicts about all pending pods; None where they have to be worked out one by one."""
        pending, scale_up = self._view.job.pending, self._scale_up
        apart = set_apart(self._session, self._view)
        if apart is None:
            return None
        for chosen in (scale_up.pods, scale_up.asked):
            if chosen and len(chosen) < len(pending):
                return None
        others = self._without_own("", bool(scale_up.pods), bool(scale_up.asked))
        return PodTexts(others, {uid: self.of(uid, pending[uid]) for uid in apart} if apart else NOBODY)

    def of(self, uid: str, task: Task) -> PodText:
        """The verdict about one pod."""
        session, view, scale_up = self._session, self._view, self._scale_up
        moved = uid in view.moved
        waits_for = _waits_for(view, task) if moved or uid in session.refused.tried else ""
        wanted, asked = uid in scale_up.pods, uid in scale_up.asked
        # Most tasks have no refusal of their own, so the lookup is skipped for them.
        own = refusal_of(session, view, uid) if moved or uid in session.refused.tasks else None
        if own is None:
            known = waits_for, wanted, asked
            text = self._known.get(known)
            if text is None:
                text = self._known[known] = self._without_own(*known)
            return text
        if isinstance(own, NodeReasons):
            own = self._with_holders(task, own)
        return self._text(own, waits_for, wanted, asked)

    def _with_holders(self, task: Task, why: NodeReasons) -> NodeReasons:
        """The reasons with the names of the jobs that hold room, and with what protects possible victims."""
        explained = self._waiting.holders.explain(self._view.key, task, why)
        protected = self._session.refused.protected.get(self._view.key)
        named = explained.named(explained.why.message)
        named = with_refusal(self._session, task, why, named)
        return explained.why._replace(message=f"{protected.message}; {named}" if protected is not None else named)

    def _without_own(self, waits_for: str, wanted: bool, asked: bool) -> PodText:
        return self._text(self._session.refused.jobs.get(self._view.key), waits_for, wanted, asked)

    def _text(self, why: NodeReasons | Refusal | None, waits_for: str, wanted: bool, asked: bool) -> PodText:
        """``wanted``: nodes are to be added for the pod. ``asked``: a ProvisioningRequest asks for them."""
        view, outcome, scale_up = self._view, self._outcome, self._scale_up
        message, reasons = _task_message(self._waiting, view, outcome, self._gang, why, waits_for)
        fits = bool(waits_for) and why is None
        if asked:
            request = asked_for(self._session.snapshot, view.key)
            return PodText(PROVISIONING, message if request in message else f"{message}; {request}", reasons, fits)
        if wanted and not scale_up.asked:
            return PodText(UNSCHEDULABLE, message, reasons, fits)
        repeats = isinstance(why, Refusal) and why.code == scale_up.code  # the same limit, maybe in other words
        if scale_up.why_not and not repeats and scale_up.why_not not in message:
            message = f"{message}{words.NO_HELP}{scale_up.why_not}"
        return PodText(SCHEDULABLE if fits else _other_reason(view, outcome, why, scale_up), message, reasons, fits)


def asked_for(snapshot: Snapshot, key: str) -> str:
    """What became of the ProvisioningRequest of a gang."""
    found = None if snapshot.provisioning is None else snapshot.provisioning.get(key)
    if found is None:
        return words.NODES_REQUESTED
    return told(found, f"at {clock(found.retry_at, snapshot.now, True)} UTC")


def with_request(session: Session, headline: UnschedulableReason, view: JobView) -> UnschedulableReason:
    """The reason why a job waits, with what became of its ProvisioningRequest at the end."""
    requests = session.snapshot.provisioning
    if not requests or view.key not in requests or not headline.message or view.is_ready:
        return headline
    return headline._replace(message=f"{headline.message}; {asked_for(session.snapshot, view.key)}")


def _other_reason(view: JobView, outcome: JobOutcome, why: NodeReasons | Refusal | None, scale_up: ScaleUp) -> str:
    """The reason of a pod that no nodes are to be added for: the code of what it waits for."""
    if isinstance(why, Refusal) and why.code not in NODES_HELP and (why.reason != PIPELINED or view.has_minima):
        return UNSUPPORTED if why.code is Code.UNSUPPORTED else why.code
    return scale_up.code or outcome.code or UNDETERMINED


def _waits_for(view: JobView, task: Task) -> str:
    """What has to be so before a task with room on a node is bound."""
    groups = view.sub_groups
    if groups is not None and view.is_ready and not groups.are_whole((task,)):
        lacking = next((one for one in groups.path(groups.of(task)) if not one.is_ready), groups.of(task))
        of_groups = isinstance(lacking, Composite)
        return words.sub_group_reaches_minimum(lacking.name, lacking.minimum, of_groups=of_groups)
    return words.gang_reaches_minimum(view.called, view.min_member)


def verdicts_of_strays(session: Session) -> dict[str, Verdicts]:
    """Why pods whose PodGroup does not exist are unschedulable. No job reports them, so they are reported here."""
    return {key: _of_stray(job) for key, job in session.snapshot.strays.items()}


def _of_stray(job: Job) -> Verdicts:
    found = PodTexts(PodText(Code.NO_POD_GROUP, no_such_group(job.key), {Code.NO_POD_GROUP.value: 1}), NOBODY)
    return found.verdicts(job)


def no_such_group(key: str) -> str:
    """The message for a pod that names a PodGroup which does not exist."""
    return words.no_group(title_of(key))


def _task_message(
    waiting: UnschedulableReasons,
    view: JobView,
    outcome: JobOutcome,
    gang: str,
    why: NodeReasons | Refusal | None,
    fits: str,
) -> tuple[str, dict[str, int]]:
    """Message, and number of nodes by reason.

    ``gang`` is the message that says why its job waits, and ``fits`` what a task waits for that found a node.
    """
    if isinstance(why, Refusal):
        if why.reason == PIPELINED and gang and not view.has_minima:
            return words.waits_as_gang_waits(why.message, view.called, gang), dict(outcome.reasons)
        if why.code is Code.CLAIM:
            # Words of kube-scheduler for a pod that no node can take.
            return none_available(len(waiting.session.nodes), why.message), {why.reason: 1}
        return waiting.refused(view, why).message, {why.reason: 1}
    if why is not None:
        return why.message, dict(why.reasons)
    if fits:
        return words.fits_but_waits(fits), {}
    if gang and not view.is_ready:
        alone = view.spec.made_for.startswith("Pod ")
        return gang if alone else words.gang_waits(view.called, gang), dict(outcome.reasons)
    return words.NOT_TRIED, {}
