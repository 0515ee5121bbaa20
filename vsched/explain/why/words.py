"""What keeps a job from starting, and what keeps a running one from being disturbed."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.codes import NoStart
from vsched.framework.words.lists import counted, listed

# -- gates, queues and roles -------------------------------------------------------------------------------------------


def gates_hold_back(pods: int) -> str:
    return f"scheduling gates hold back {counted(pods, 'pod', 'pods')}"


def role_not_named(pods: int, role: str) -> str:
    return f"{counted(pods, 'pod has', 'pods have')} role {role}, which minTaskMember does not name"


# -- what never starts -------------------------------------------------------------------------------------------------

NO_CONTROLLER = "no controller owns its pods, so more have to be created by hand"


def in_one_domain(tier: str) -> str:
    return f" in one domain of {tier}"


def of_role(role: str) -> str:
    return f"of role {role} "


# -- who holds what is lacking -----------------------------------------------------------------------------------------

NO_JOB = "work without a job"
HOLDS_OR_RESERVES = "holds or reserves"


def running_now(jobs: str, others: str) -> str:
    return f"running now: {jobs}{others}"


def of_class(name: str) -> str:
    return f"of class {name}"


def host_port_used(ports: str) -> str:
    return f"host port {ports} is used by"


ANTI_AFFINITY = "its anti-affinity rules it out beside"
ANTI_AFFINITY_OF = "it is ruled out by the anti-affinity of"


def pod_slots_taken(where: str, held: str) -> str:
    return f"all pod slots of {where} are taken: {held}"


def too_little_free(pods: int, asked: str, resource: str, free: str, where: str, at_most: str, held: str) -> str:
    """What pods ask for of a resource, what is free, and who holds the rest; see ``at_most_on_one``."""
    asks = f"{pods} pods ask for" if pods > 1 else "a pod asks for"
    return f"{asks} {asked} {resource}{' each' if pods > 1 else ''}, {free} free on {where}{at_most}: {held}"


def at_most_on_one(most: str, node: str) -> str:
    return f", {most} at most on one ({node})"


# -- planned starts ----------------------------------------------------------------------------------------------------

_THEN = "even when all work with a known end has ended"
WHY_NO_START = {
    NoStart.DEPTH: "easy-backfill already plans as many starts as its depth allows",
    NoStart.LEFT_OUT: "reserveFor of easy-backfill leaves it out for now",
    NoStart.RUNNING_JOBS: f"limits on running jobs would not let it start, {_THEN}",
    NoStart.WALL_TIME: "its wall time is over, or it asks for more than is allowed",
    NoStart.INCOMPLETE: "too few of its pods exist and can be placed",
    NoStart.NOT_SOUGHT: "no start was found for many jobs before it, so the search stopped",
    NoStart.LIMITS: f"its queue or namespace would not admit it, {_THEN}",
    NoStart.ROOM: f"the nodes would have too little free, {_THEN}",
    NoStart.DEVICES: f"too few of the devices that it claims would be free, {_THEN}",
}


def others_until_its_start(others: str) -> str:
    return f"until its start, {others} may use its nodes: started after it began to wait"


def goes_before(other: str) -> str:
    return f"it goes before {other}, on nodes that are reserved for the start of that job"


def not_planned(reason: NoStart) -> str:
    return f"not planned: {WHY_NO_START[reason]} ({reason})"


# -- who is protected --------------------------------------------------------------------------------------------------

NOT_PREEMPTABLE = "they may not be preempted"
KEPT = "their jobs are protected by their preemptibility (vsched.io/preemptibility)"
REFUSED = "the API server refused to evict them; it is asked again within 5m"
NO_RECLAIM = "other queues hold more than they deserve, but the policy has no reclaim action"


def may_evict_later(why: str, when: str) -> str:
    return f"{why}: it may evict others at {when}"


def not_reclaimable(queues: Sequence[str]) -> str:
    verb = "holds more than it deserves and is" if len(queues) == 1 else "hold more than they deserve and are"
    return f"{listed('queue', queues)} {verb} not reclaimable"


OTHERS_OF_QUEUE = "other jobs of its queue"


def protected(whose: str, nodes: int, reasons: str) -> str:
    on = counted(nodes, "node", "nodes")
    return f"evicting pods of {whose} would make room on {on}, but they are protected: {reasons}"


NEVER_PREEMPTS = "its pods do not preempt: their preemptionPolicy is Never"


def may_not_reclaim(queue: str) -> str:
    return f"queue {queue} may not reclaim: it would hold more than it deserves"


# -- its own rules -----------------------------------------------------------------------------------------------------


def asks_for_node(node: str, *, exists: bool) -> str:
    return f"its node affinity asks for node {node}{'' if exists else ', which does not exist'}"


def node_selector_is(selector: str) -> str:
    return f"its node selector is {selector}"


def node_affinity(terms: str) -> str:
    return f"its node affinity asks for {terms}"


def pod_affinity(labels: str, key: str) -> str:
    pod = f"a pod with {labels}" if labels else "a pod"
    return f"its pod affinity asks for {pod} with the same {key}, and no such pod is on a node"


def spread_label(key: str, lacking: str) -> str:
    return f"its topology spread constraints name the label {key}: {lacking}"


def too_few_domains(asked: int, key: str, there: int) -> str:
    domains = f"{asked} domains by {key} (minDomains)"
    return f"its topology spread constraints ask for {domains}, and there are {there}"


def used_by_pod(claim: str, mode: str, pod: str) -> str:
    return f"PersistentVolumeClaim {claim} ({mode}) is used by pod {pod}"


def can_attach_no_more(node: str, most: int, driver: str, pod: str, others: int) -> str:
    """``pod`` is the first of those whose volumes are attached."""
    more = f" and {counted(others, 'other', 'others')}" if others else ""
    return f"node {node} can attach {counted(most, 'volume', 'volumes')} of {driver}: used by pod {pod}{more}"


# -- nodes that are asked for ------------------------------------------------------------------------------------------


def no_nodes_requested(why: str) -> str:
    return f"no nodes are requested: {why}"


# -- running jobs ------------------------------------------------------------------------------------------------------

JOBS_OF_QUEUE = "jobs of its queue"


def non_preemptible(others: str) -> str:
    return f"no pod of it is evicted for {others}: it is non-preemptible"


def semi_preemptible(spare: int, pods: int) -> str:
    return f"{spare} of its {counted(pods, 'pod', 'pods')} may be evicted for others: it is semi-preemptible"


JOBS_OF_QUEUE_AND_UNDER_SHARE = "jobs of its queue, nor for others while its queue holds no more than it deserves"


def not_evicted(protected: int, pods: int, whom: str, until: str, why: str) -> str:
    """How many pods of a job are protected; ``until`` is ``yet`` or a moment."""
    if protected == pods:
        return f"no pod of it is evicted for {whom} {until}: {why}"
    verb = "are not" if protected > 1 else "is not"
    return f"{protected} of its {counted(pods, 'pod', 'pods')} {verb} evicted for {whom} {until}: {why}"
