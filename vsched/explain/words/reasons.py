"""What is said of states, of the order of jobs, of places and of queues."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.words.lists import counted

# -- kinds of changes --------------------------------------------------------------------------------------------------

MINIMA_OF_OTHERS = "minima of others"
GUARANTEES_OF_OTHERS = "guarantees of others"
LIMITS_ON_GROUPS = "limits on groups"


# -- jobs --------------------------------------------------------------------------------------------------------------

GATED = "a scheduling gate holds it back"
NO_POD_WAITS = "none of its pods waits: all are being deleted or have ended"


def others_go_first(past_use: str) -> str:
    return f"{past_use}, so other queues go first beyond what they deserve"


def not_bound(why: str) -> str:
    return f"the API server does not bind it: {why}"


def grouped_by_owner(owner: str, minimum: int, roles: str) -> str:
    """How many pods of an owner start together; ``roles`` are minima of single roles."""
    together = f"{minimum} start together" if minimum > 1 else "each starts by itself"
    return f"its pods were grouped by their owner {owner}: {together}{f' ({roles})' if roles else ''}"


def pods_follow_admission(vcjob: str) -> str:
    return f"the pods of vcjob {vcjob} are created once its queue admits it (Inqueue)"


NO_ANSWER_YET = "no answer yet"


def asked_to_end(pod: str, beneficiary: str, expected: str, deadline: str) -> str:
    """``expected`` is what the pod answered, ``deadline`` when it is evicted."""
    whom = f" for {beneficiary}" if beneficiary else ""
    return f"{pod} was asked to end{whom}: {expected}; it is evicted at {deadline} if it still runs"


# -- order -------------------------------------------------------------------------------------------------------------

LOST_PODS_FIRST = "runs and lost pods, which are replaced first"
FIRST_BY_NAME = "is as old and comes first by name"


def goes_first_by(plugin: str) -> str:
    return f"goes first by {plugin}"


def position_in_queue(ordinal: str, of: int, queue: str, why: str = "") -> str:
    return f"{ordinal} of {of} in queue {queue}{f': {why}' if why else ''}"


WHO_IS_NOT_NAMED = "who is not named"


# -- places ------------------------------------------------------------------------------------------------------------


def nodes_with_one_value(label: str) -> str:
    return f"nodes with one value of label {label}"


AS_CLOSE_AS_POSSIBLE = "as close as possible"
ONE_DOMAIN_AS_CLOSE = "one domain, as close as possible"


def domain_or_closer(tier: str) -> str:
    return f"one domain of {tier} or closer"


# -- queues ------------------------------------------------------------------------------------------------------------


def used_times_its_share(queue: str, times: float, span: str) -> str:
    return f"queue {queue} used {times:.1f} times its share over the last {span}"


def queue_awaited(queue: str, jobs: int) -> str:
    return f"queue {queue} does not exist: {counted(jobs, 'job waits', 'jobs wait')} for it to be created"


def job_of_queue(job: str, queue: str) -> str:
    return f"{job} of queue {queue}"


def wait_for_pods(jobs: int) -> str:
    return f"{counted(jobs, 'job waits', 'jobs wait')} for pods that do not exist"


NO_JOB_WAITS = "no job waits"


def holds_deserved(amount: str) -> str:
    return f"holds {amount} that it deserves"


def holds_of_cluster(amount: str) -> str:
    return f"holds {amount} of the cluster"


def amount_of(held: str, amount: str, resource: str) -> str:
    return f"{held} of the {amount} {resource}"


def holds_more(queue: str, held: Sequence[tuple[str, str]], why: str) -> str:
    """``held`` are the amounts that a queue holds, each with what it deserves."""
    amounts = ", ".join(f"{amount} where it deserves {deserved}" for amount, deserved in held)
    return f"queue {queue} holds {amounts}{why}"


NOT_RECLAIMABLE = ", and is not reclaimable"
NOTHING_TAKEN_BACK = ", and the policy takes nothing back (it has no action reclaim)"


# -- states ------------------------------------------------------------------------------------------------------------

SAYS = {
    "waits": "waits and was not tried yet",
    "never": "waits for something that cannot happen",
    "starting": "has its nodes and starts once its pods are bound",
    "runs": "runs",
    "finished": "has finished",
}
"""The default message of each state, for an explanation without another one."""
CUT_SHORT = "not all changes were tried (the search has a limit), so there may be others or smaller ones"
"""The note of an explanation whose search for changes ended before its time."""
