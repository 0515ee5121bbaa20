"""How much a queue, a quota or the cluster allows, holds and is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.framework.refusal import QueueBound, Shortage
from vsched.framework.words.lists import counted, listed, rounded
from vsched.model.amounts.counted import counted_scale, format_counted

MEBI = 1 << 20


def amounts(short: Iterable[Shortage], held: str) -> str:
    """``8 of 8 nvidia.com/gpu held, 2 more asked``; several resources are separated by semicolons."""

    def of_limit(one: Shortage) -> str:
        has, limit, asked = _figures(one)
        return f"{has} of {limit} {one.resource} {held}, {asked} more asked"

    return "; ".join(map(of_limit, sorted(short)))


def _figures(one: Shortage) -> tuple[str, str, str]:
    """What is held, the limit, and what is asked."""
    name = one.resource.removeprefix("requests.")
    return in_words(name, one.held), in_words(name, max(0, one.limit)), in_words(name, one.asked)


def in_words(resource: str, amount: int) -> str:
    """An amount in readable form: large memory amounts are cut to whole mebibytes, half a GPU is 0.5."""
    if counted_scale(resource) == 1 and amount > MEBI:
        return format_counted(resource, amount // MEBI * MEBI)
    text = format_counted(resource, amount)
    return f"{amount / 1000:g}" if text.endswith("m") and not resource.endswith("cpu") else text


def in_all(one: Shortage) -> str:
    """``4 cpu in all: 8 asked``."""
    has, asked = (in_words(one.resource, amount) for amount in (max(0, one.limit), one.asked))
    return f"{has} {one.resource} in all: {asked} asked"


def at_limit(queue: str, subject: str, one: Shortage, bound: QueueBound | None) -> str:
    """The message that a queue or one above it (``subject``) may hold no more of a resource.

    Its own capability may be the limit, or that of a queue above it, the guarantees of other queues, or the size of the
    cluster; ``bound`` says which.
    """
    who = named_queue(subject, queue)
    if bound is None or bound.holder == subject:
        if one.is_lasting:
            return f"{who} {at_most(one)}"
        return f"{who} {allows(one)}"
    if bound.guaranteed and one.is_lasting:
        leaves = f"{guaranteed(bound)} leaves {who} {of_all(one, bound)} at most"
        return f"{leaves}: {in_words(one.resource, one.asked)} asked"
    if one.is_lasting:
        return (
            f"{named_queue(bound.holder, queue)} {at_most(one)}" if bound.holder else f"the cluster has {in_all(one)}"
        )
    has, limit, asked = _figures(one)
    if bound.holder and not bound.guaranteed:
        return f"queue {bound.holder} allows queue {subject} {limit} {one.resource}: {has} held, {asked} more asked"
    why = f"{guaranteed(bound)} is kept free" if bound.guaranteed else "the cluster has no more"
    return f"{who} may hold {limit} {one.resource}, as {why}: {has} held, {asked} more asked"


def allows(one: Shortage, verb: str = "allows", held: str = "held") -> str:
    """``allows 6 cpu: 4 held, 4 more asked``."""
    has, limit, asked = _figures(one)
    return f"{verb} {limit} {one.resource}: {has} {held}, {asked} more asked"


def named_queue(name: str, queue: str) -> str:
    """``queue a``, or ``queue a above it`` where the job is in another queue."""
    return f"queue {name}" if name == queue else f"queue {name} above it"


def at_most(one: Shortage) -> str:
    """``may hold 4 cpu at most: 5 asked``."""
    limit, asked = (in_words(one.resource, amount) for amount in (one.limit, one.asked))
    return f"may hold {limit} {one.resource} at most: {asked} asked"


def guaranteed(bound: QueueBound) -> str:
    """``what queues a and b are guaranteed``."""
    names = bound.guaranteed
    verb = "is" if len(names) == 1 else "are"
    return f"what {listed('queue', names)} {verb} guaranteed"


def of_all(one: Shortage, bound: QueueBound) -> str:
    """``2 of 8 cpu``."""
    return f"{in_words(one.resource, max(0, one.limit))} of {in_words(one.resource, bound.amount)} {one.resource}"


# -- jobs that were admitted --------------------------------------------------------------------------------------

ADMITTED = "held or reserved by admitted jobs"
"""Whose amounts they are that ``amounts`` says."""


def waits_behind(jobs: int, queue: str, short: Iterable[Shortage]) -> str:
    """A job has to be admitted, and so many others were before; ``queue`` is empty where a limit is the cluster's."""
    admitted = "one job" if jobs == 1 else f"{rounded(jobs)} jobs" if jobs else "jobs"
    where = f" of queue {queue}" if queue else ""
    return f"waits behind {admitted}{where} admitted before it: {amounts(short, ADMITTED)}"


def admitted_may_ask(short: Iterable[Shortage]) -> str:
    """What all admitted jobs together may ask for."""
    shown = "; ".join(allows(one, "may ask for", "held or reserved by them") for one in sorted(short))
    return f"admitted jobs {shown}"


def deserves(queue: str, short: Iterable[Shortage], reserved_for: str = "") -> str:
    """What a queue deserves, and for which jobs part of it is reserved."""
    shown = "; ".join(allows(one, "deserves") for one in sorted(short))
    return f"queue {queue} {shown}{f'; part of it is reserved for {reserved_for}' if reserved_for else ''}"


# -- quotas -------------------------------------------------------------------------------------------------------


def over_quota(quota: str, lines: Iterable[tuple[str, str, str, str]]) -> str:
    """What the quota allows of each resource, the resource, how much of it is used, and how much is asked."""
    shown = (f"{hard} {resource}: {used} used, {asked} more asked" for hard, resource, used, asked in lines)
    return f"ResourceQuota {quota} allows {'; '.join(shown)}"


def quota_refuses(quota: str, hard: str, resource: str, used: str, pods: int, asked: str) -> str:
    """Pods of a job that do not exist yet would exceed a quota."""
    missing = counted(pods, "missing pod asks", "missing pods ask")
    return f"ResourceQuota {quota} allows {hard} {resource}: {used} used, {missing} for {asked}"
