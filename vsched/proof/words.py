"""All that the checker says of a decision that breaks a rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# -- what a job lacks of its minima -------------------------------------------------------------------------------


def lacks_pods(have: int, needs: int) -> str:
    """Of the job."""
    return f"{have} of the {needs} pods that it needs"


def lacks_of_role(have: int, needs: int, role: str) -> str:
    """Of a role."""
    return f"{have} of the {needs} pods that its role {role} needs"


def lacks_sub_groups(have: int, needs: int, policy: str) -> str:
    """Of a policy of sub-groups."""
    return f"{have} of the {needs} complete sub-groups that it needs of {policy}"


# -- a pod on its node --------------------------------------------------------------------------------------------

OTHER_NODE = "and names another node"
NOT_SELECTED = "which its node selector does not match"
NO_AFFINITY = "which its node affinity does not match"


def not_tolerated(taint: str) -> str:
    """A taint of the node."""
    return f"whose taint {taint} it does not tolerate"


def bound_where_forbidden(pod: str, node: str, why: str) -> str:
    """By its own rules, or the node's."""
    return f"{pod} is bound to {node}, {why}"


def not_apart(owner: str, other: str) -> str:
    """Required anti-affinity."""
    return f"{owner} and {other} are in one domain, and have to be apart"


def port_taken(pod: str, node: str, port: int) -> str:
    """A port of the host."""
    return f"{pod} is bound to {node}, where port {port} is taken"


def device_given_twice(device: str, pool: str, owner: str, other: str) -> str:
    """Owners are claims."""
    return f"device {device} of {pool} goes to {owner} and to {other}"


def claim_of(namespace: str, pod: str) -> str:
    """A claim that its template does not name yet."""
    return f"the claim of {namespace}/{pod}"


def too_much_bound(node: str, amounts: str) -> str:
    """More than was idle."""
    return f"{node} is bound {amounts}, of which it had less idle"


def too_much_kept(amounts: str, node: str) -> str:
    """More than there will be once what is leaving is gone."""
    return f"{amounts} is kept on {node}, more than there will be"


# -- gangs --------------------------------------------------------------------------------------------------------


def starts_with(job: str, lacks: str) -> str:
    """Less than its minima."""
    return f"{job} starts with {lacks}"


def kept_in_part(job: str, lacks: str) -> str:
    """Room is kept that does not do."""
    return f"room is kept for {job}, which would start with {lacks}"


def waits_for_nothing(job: str, pods: int) -> str:
    """A job that could start."""
    return f"{job} waits, and {pods} of its pods fit idle nodes, which is enough for it to go on"


# -- queues -------------------------------------------------------------------------------------------------------


def holds_more(queue: str, held: str, most: str) -> str:
    """Than its capability."""
    return f"queue {queue} holds {held} of at most {most}"


def takes_guaranteed(queue: str, amounts: str) -> str:
    """What is guaranteed to others has to stay free."""
    return f"queue {queue} takes {amounts} of what is guaranteed to others"


def holds_more_than_deserved(queue: str, held: str, deserved: str) -> str:
    """Under ``proportion``."""
    return f"queue {queue} holds {held} of {deserved}"


def reported_otherwise(queue: str, told: Mapping[str, int], held: Mapping[str, int]) -> str:
    """What a report says of a queue is not so."""
    return f"queue {queue} is reported to hold {told}, and holds {held}"


# -- victims ------------------------------------------------------------------------------------------------------

NOT_RUNNING = "does not run"
NOT_PREEMPTABLE = "is not preemptable"
JOB_NOT_PREEMPTIBLE = "belongs to a job that is not preemptible"
JOB_NOT_PREEMPTABLE = "belongs to a job that is not preemptable"
OF_THE_CLUSTER = "is one of the cluster's own"
JUST_PLACED = "was placed a moment ago"


def may_not_leave(pod: str, action: str, why: str) -> str:
    """It is no victim at all (one of the above)."""
    return f"{pod} is evicted by {action}, and {why}"


FOR_NOBODY = "for nobody"
OF_NO_JOB = "though it belongs to no job"
JOB_NO_LESS = "and its job is no less than the one that it leaves for"


def queues_not_as_asked(queue: str, beneficiary: str) -> str:
    """Reclaim is between queues, preemption within one."""
    return f"though its queue is {queue}, and that of the job that it leaves for {beneficiary}"


def not_reclaimable(queue: str) -> str:
    """A queue from which nothing is reclaimed."""
    return f"and its queue {queue} is not reclaimable"


def never_preempts(job: str) -> str:
    """A job that takes from nobody."""
    return f"for {job}, whose pods never preempt"


def out_of_reach(pod: str, action: str, why: str) -> str:
    """It is no victim of this action, or for this job (one of the above)."""
    return f"{pod} is evicted by {action} {why}"


def budget_exceeded(pods: int, budget: str, allowed: int) -> str:
    """A disruption budget."""
    return f"{pods} pods of budget {budget} leave, of {allowed}"


def in_two_budgets(pod: str) -> str:
    """Such a pod cannot be evicted."""
    return f"{pod} is in two budgets"


LEAVES_IN_PART = "leaves in part, and says that it leaves as a whole"


def left_with(lacks: str) -> str:
    """Less than its minima."""
    return f"is left with {lacks}"


def loses_pods(job: str, actions: Iterable[str], why: str) -> str:
    """A job that has to keep its minima, or to leave whole (one of the above)."""
    return f"{job} loses pods to {', '.join(sorted(actions))}, and {why}"


# -- those that are moved ------------------------------------------------------------------------------------------

NOT_MADE_AGAIN = "and no controller makes a new one for another node"
NO_PLACE = "which is no node"
SAME_NODE = "which it leaves"


def moved_wrongly(pod: str, node: str, why: str) -> str:
    """It cannot be there (one of the above, or what a node forbids)."""
    return f"{pod} is moved to {node or 'no node'}, {why}"


def too_much_moved(amounts: str, node: str) -> str:
    """More than is idle beside all others."""
    return f"{amounts} is moved to {node}, which has less idle"


# -- those whom victims leave for ---------------------------------------------------------------------------------

GETS_NO_ROOM = "which gets no room"


def then_has(lacks: str) -> str:
    """Less than its minima."""
    return f"which then has {lacks}"


def taker_incomplete(job: str, why: str) -> str:
    """A job that cannot start with what it gets (one of the above)."""
    return f"pods are evicted for {job}, {why}"


def leaves_queue(queue: str, held: str, own: str) -> str:
    """With less than is its own."""
    return f"leaves queue {queue} {held} of {own} that are its own"


def bad_eviction(pod: str, beneficiary: str, why: str) -> str:
    """What it does to a queue (``leaves_queue``)."""
    return f"the eviction of {pod} for {beneficiary} {why}"


def leaves_in_vain(pods: Iterable[str], job: str) -> str:
    """One could have stayed."""
    return f"{', '.join(pods)} leaves in vain: what is placed of {job} fits without it"


def out_of_turn(pod: str, queue: str, other: str) -> str:
    """Another queue was to give first."""
    return f"{pod} leaves queue {queue}, which held less of its share than {other} still has"
