"""Why a job waits, or a pod of it, where it is not the nodes' fault alone."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.words.lists import LISTED_MAX, counted, listed

# -- what it names does not exist, or is not supported ------------------------------------------------------------

REJECTED = "a plugin rejected it"


def no_queue(queue: str) -> str:
    """The queue does not exist."""
    return f"queue {queue} does not exist"


def no_group(title: str) -> str:
    """A pod names a PodGroup that does not exist; ``title`` has its kind and name."""
    return f"{title} does not exist: its pods wait for it to be created"


def no_priority_class(name: str) -> str:
    """A queue names one."""
    return f"PriorityClass {name} does not exist"


def claims_unread(kind: str, why: str) -> str:
    """Objects of this kind that its claims need."""
    return f"{kind} objects cannot be read: {why}"


def some_wait(pods: int, first: str, why: str) -> str:
    """Some of its pods cannot start anywhere; of the first it is said why."""
    return f"{counted(pods, 'of its pods waits', 'of its pods wait')}: {first}: {why}"


def gated(pods: int, *, more: bool) -> str:
    """Its pods have scheduling gates; ``more`` where others of it run."""
    held = counted(pods, "more pod", "more pods") if more else counted(pods, "pod", "pods")
    return f"scheduling gates hold back {held}"


def unbound(pods: int, first: str, why: str) -> str:
    """They have nodes; of the first it is said why."""
    return f"the API server does not bind {pods} of its pods: {first}: {why}"


# -- how many of its pods lack a node -----------------------------------------------------------------------------

NONE_FITS = "no node fits"
UNTRIED = "not every way to place its pods was tried"
THE_GANG = "the gang"


def needs(who: str, minimum: int, missing: int, fits: int, most: int | None = None) -> str:
    """``the gang needs 8, 2 fit``; with ``most``, also how many would fit if all nodes were empty."""
    many = fits if fits else "none"
    verb = "fits" if fits == 1 else "fit"
    needed = f"{minimum}" if missing == minimum else f"{missing} more of its minimum of {minimum}"
    message = f"{who} needs {needed}, {many} {verb}"
    if most is None or (not most and not fits):
        return message
    return f"{message}, and {'no more' if most <= fits else most} would if all nodes were empty"


def gang_needs(missing: int) -> str:
    """None of them was tried."""
    return f"{THE_GANG} needs {missing}"


# -- its roles do not fit on the nodes together -------------------------------------------------------------------

USABLE_NODES = "usable nodes"
NODES_WITH_ROOM = "nodes with room for such a pod"
"""Nodes of which ``lack_together`` says what they have."""


def roles_of(roles: Sequence[str]) -> str:
    """``role worker``, ``roles ps and worker``."""
    return listed("role", roles)


def sub_groups_of(names: Sequence[str]) -> str:
    """``sub-group a``, ``sub-groups a and b``."""
    return listed("sub-group", names)


def pods_like(names: Sequence[str]) -> str:
    """The pods of a gang without roles, by one of each kind: ``pods like a-0 and a-4``."""
    return f"pods like {listed('', names)}"


def lack_together(who: str, needed: str, resource: str, nodes: str, free: str, *, several: bool = True) -> str:
    """``roles ps and worker together need 9 nvidia.com/gpu; usable nodes have 8 free``."""
    verb = "together need" if several else "need" if who.startswith("pods ") else "needs"
    return f"{who} {verb} {needed} {'slots for pods' if resource == 'pods' else resource}; {nodes} have {free}"


def at_least(amount: str) -> str:
    """As much as the smallest of the pods ask for that are enough."""
    return f"at least {amount}"


def free(amount: str, *, leaving: bool) -> str:
    """``leaving``: pods that are leaving still use some of it."""
    return f"{amount} free{' or about to be' if leaving else ''}"


def few_fit(who: str, needed: int, fits: int, resources: Sequence[str]) -> str:
    """``of roles ps and worker, 6 pods are needed at once and at most 5 fit, for lack of cpu``."""
    many = f"at most {fits} {'fits' if fits == 1 else 'fit'}" if fits else "none fit"
    why = f", for lack of {listed('', resources)}" if resources else ""
    return f"of {who}, {counted(needed, 'pod is', 'pods are')} needed at once and {many}{why}"


def in_no_domains(who: str) -> str:
    """``sub-groups a and b do not fit together, whichever domains they are in``."""
    return f"{who} do not fit together, whichever domains they are in"


# -- its minimum runs ---------------------------------------------------------------------------------------------


def more_wait(pods: int) -> str:
    """Its minimum runs."""
    return "one more pod waits" if pods == 1 else f"{pods} more pods wait"


def besides(message: str) -> str:
    """What else stands in its way; an addition to a sentence."""
    return f"; besides, {message}"


HIGHER_PRIORITY = "has the higher priority"
"""Why a job goes before another one."""
NO_HELP = "; more nodes would not help: "
"""What follows keeps pods from starting whatever nodes are added."""

# -- its pods have nodes, and wait --------------------------------------------------------------------------------


def have_nodes(pods: int, message: str) -> str:
    """``message`` is about the first of them."""
    return f"{counted(pods, 'pod has a node', 'pods have nodes')}: {message}"


def wait_for_others(pods: int, message: str) -> str:
    """Other pods have to leave these nodes; ``message`` is about the first of them."""
    return f"{counted(pods, 'pod has a node and waits', 'pods have nodes and wait')} for other pods to leave: {message}"


def goes_once(node: str, leaving: str = "") -> str:
    """Others have to leave the node; ``leaving`` says of some when they do (``victims.leaving_by_themselves``)."""
    return f"will go to {node} once {leaving or 'the terminating pods are gone'}"


def goes_next(node: str) -> str:
    """Nothing is in its way any more."""
    return f"will go to {node} in the next session"


def has_place(node: str) -> str:
    """Others of its gang have none yet."""
    return f"has a place on {node} and waits for its gang"


def starts_at(when: str, nodes: Sequence[str], count: int) -> str:
    """``its start is planned for 14:05 UTC (in 12m), on n1, n2 and 6 more nodes``."""
    shown = nodes[:LISTED_MAX]
    more = count - len(shown)
    names = " and ".join(filter(None, (", ".join(shown), counted(more, "more node", "more nodes") if more else "")))
    return f"its start is planned for {when}, on {names}"


NODES_REQUESTED = "nodes for it will be requested by a ProvisioningRequest"
NODES_ON_THE_WAY = "nodes for it are being provisioned"
"""Why it may not evict others yet."""

# -- one pod of it ------------------------------------------------------------------------------------------------

NOT_TRIED = "not tried in this cycle"


def fits_but_waits(until: str) -> str:
    """It found a node (``gang_reaches_minimum``, ``sub_group_reaches_minimum``)."""
    return f"fits, but waits until {until}"


def gang_reaches_minimum(gang: str, minimum: int) -> str:
    """So many pods of it start together."""
    return f"its gang {gang} reaches its minimum of {minimum}"


def sub_group_reaches_minimum(name: str, minimum: int, *, of_groups: bool) -> str:
    """So many pods of it, or sub-groups in it, start together."""
    return f"its sub-group {name} reaches its minimum of {minimum}{' groups' if of_groups else ''}"


def gang_waits(gang: str, why: str) -> str:
    """Nothing is in the way of the pod itself."""
    return f"its gang {gang} waits: {why}"


def waits_as_gang_waits(message: str, gang: str, why: str) -> str:
    """The pod has a place, which ``message`` says."""
    return f"{message}, and its gang {gang} waits: {why}"


CLAIM_RELEASED = "its pods were not placed"
"""Why a claim is released that its pods do not use."""
