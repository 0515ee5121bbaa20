"""What plugins say of queues and quotas: why a queue takes no jobs, or no more, and what is wrong with its object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vsched.framework.refusal import QueueBound, Shortage
from vsched.framework.words.limits import amounts, guaranteed, in_all


def names_of(short: Iterable[Shortage]) -> str:
    """The scarce resources, as the sentences below name them."""
    return ", ".join(sorted(one.resource for one in short))


def called(name: str, queue: str) -> str:
    """A queue, which is that of the job or one above it."""
    return f"queue {name}" if name == queue else f"queue {name} above queue {queue}"


# -- it takes no jobs ---------------------------------------------------------------------------------------------


def not_open(queue: str, state: str, above: str = "", state_above: str = "") -> str:
    """The queue is closed; ``above`` is the nearest queue above it that is closed as well."""
    message = f"queue {queue} is {state}, not Open"
    return f"{message}, and queue {above} above it is {state_above}" if above else message


def ignored(queue: str, problem: str) -> str:
    """The queue is left out of the tree."""
    return f"queue {queue} is ignored: {problem}"


def not_leaf(queue: str) -> str:
    """Jobs belong into the queues below."""
    return f"queue {queue} has child queues; submit jobs to one of these"


# -- what is wrong with its object --------------------------------------------------------------------------------


def parent_gone(parent: str) -> str:
    """It names a parent that is not there."""
    return f"its parent {parent} does not exist"


def circle(names: Sequence[str]) -> str:
    """It is above itself; the first name is the last as well."""
    return f"its parents form a circle: {', '.join(names)}"


_BELOW = "it is below queue "


def below_left_out(above: str, why: str) -> str:
    """It is below a queue that is left out; names the queue that caused it, however far above."""
    return why if why.startswith(_BELOW) else f"{_BELOW}{above}, left out as {why}"


def reduced(parent: str, cut: str) -> str:
    """Its amounts are more than its parent passes on."""
    return f"reduced to what its parent {parent} passes on: {cut}"


def jobs_and_children(other_problem: str) -> str:
    """It has both."""
    more = f"; {other_problem}" if other_problem else ""
    return f"jobs in it get nothing because it has child queues{more}"


# -- it may hold no more ------------------------------------------------------------------------------------------


def over_limit(name: str, queue: str, resources: str) -> str:
    """The queue or one above it would exceed what it may hold."""
    return f"{called(name, queue)} would hold more than it may of {resources}"


def over_share(queue: str, resources: str, *, capability: bool) -> str:
    """The queue would exceed its capability, or what it deserves."""
    bound = "its capability" if capability else "it deserves"
    return f"queue {queue} would hold more than {bound} of {resources}"


def quota_insufficient(shown: str, resources: str) -> str:
    """A job's minimum exceeds what the queue may hold; ``shown`` names the queue."""
    return f"{shown} resource quota insufficient: insufficient {resources}"


def guarantee_kept(keepers: Sequence[str], within: str, short: Shortage) -> str:
    """What other queues are guaranteed stays free, in the queue ``within`` or in the cluster."""
    where = f" in queue {within}" if within else ""
    kept = guaranteed(QueueBound(0, 0, guaranteed=tuple(keepers)))
    return f"{kept} is kept free{where}: {amounts((short,), 'held')}"


# -- the cluster has no more --------------------------------------------------------------------------------------


def beyond_cluster(short: Iterable[Shortage]) -> str:
    """A job's minimum exceeds even the empty cluster."""
    return f"the cluster has {'; '.join(in_all(one) for one in sorted(short))}"


def overused(resources: str) -> str:
    """The minima of admitted jobs exceed what is there, times a factor."""
    return f"resource in cluster is overused: overused {resources}"
