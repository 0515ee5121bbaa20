"""Until when the pods of a running job are not evicted for others, and which of them its PodGroup keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isinf

from vsched.actions.gang_search import GANG_RECLAIM, GangReclaimArgs
from vsched.actions.victim_search import RECLAIM, ReclaimArgs
from vsched.explain.why import words
from vsched.framework.combine.victim_rules import VictimRules
from vsched.framework.jobs import JobView
from vsched.framework.ledger.units import members
from vsched.framework.points.victims import Purpose, VictimProtection
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.surplus import protected_by
from vsched.framework.times import at_and_in
from vsched.model.jobs.job import Job
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility

RECLAIMS = (RECLAIM, GANG_RECLAIM)
FOR = {Purpose.PREEMPT: words.JOBS_OF_QUEUE, Purpose.RECLAIM: "other queues"}


def undisturbed(job: Job, policy: Policy, registry: Registry, opened: Callable[[], Session]) -> Iterator[str]:
    """Notes on a running job; ``opened`` makes a session, which is needed only if the policy protects pods."""
    pods = list(members(job))
    if not pods:
        return
    if any(issubclass(registry.plugins[conf.name], VictimProtection) for conf in policy.plugins()):
        session = opened()
        for purpose in Purpose:
            yield from _protected(session.plugins.victim_rules, pods, purpose, session.snapshot.now)
    if job.spec.preemptibility is Preemptibility.NONE:
        yield words.non_preemptible(_spared_from(job, policy, registry))
    elif (keeps := protected_by(JobView(job))) is not None:
        spare = sum(not keeps(task) for task in pods)
        yield words.semi_preemptible(spare, len(pods))


def _spared_from(job: Job, policy: Policy, registry: Registry) -> str:
    """For whom no pod of a job is evicted that is not preemptible."""
    divided = any(
        conf.switches.reclaimable and getattr(registry.plugins[conf.name], "keeps_deserved", False)
        for conf in policy.plugins()
    )
    if divided and any(_takes(policy, name, job.spec.queue) for name in RECLAIMS):
        return words.JOBS_OF_QUEUE_AND_UNDER_SHARE
    return "others"


def _takes(policy: Policy, action: str, queue: str) -> bool:
    """Whether an action takes from jobs of a queue that are not preemptible."""
    args = policy.action_args.get(action)
    if action not in policy.actions:
        return False
    if not isinstance(args, ReclaimArgs | GangReclaimArgs):
        return True  # by the defaults
    return args.victim_tiers != "reference" and not {"*", queue} & {*args.non_preemptible}


def _protected(rules: VictimRules, pods: Sequence[Task], purpose: Purpose, now: float) -> Iterator[str]:
    """How many pods may not be evicted for one purpose, and until when."""
    ends = [(until, task) for task in pods if (until := rules.protected_until(task, purpose)) > now]
    if not ends:
        return
    last, task = max(ends, key=lambda end: end[0])
    how_long = "yet" if isinf(last) else f"until {at_and_in(last, now)}"
    yield words.not_evicted(len(ends), len(pods), FOR[purpose], how_long, rules.words(task, purpose))
