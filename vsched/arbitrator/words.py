"""All that the arbitrator says to people: the conditions of its objects, and what admission finds wrong with them."""

from __future__ import annotations

from collections.abc import Sequence

# -- conditions ---------------------------------------------------------------------------------------------------

WITHIN = "within its limits, and within what it deserves or no namespace is short"
"""A namespace that is not overused."""
NAMED_MAX = 3
"""How many namespaces a message names at most; for the others it gives their number."""


def older_counts(consumer: str) -> str:
    """A second Consumer of a namespace."""
    return f"Consumer {consumer} of this namespace is older and counts instead"


def no_bucket(bucket: str) -> str:
    """The parent of a Consumer or Bucket."""
    return f"there is no Bucket {bucket}: it counts as one without limits and reservation, of weight 1"


def beyond_own_limit(amounts: str) -> str:
    """A namespace."""
    return f"holds {amounts} more than its hard limit"


def bucket_beyond_limit(amounts: str) -> str:
    """The namespaces of a bucket together."""
    return f"its namespaces hold {amounts} more than its hard limit"


def beyond_deserved(amounts: str, bucket: str, short: Sequence[str]) -> str:
    """A namespace, while a bucket above it is over its limit, or namespaces are ``short``."""
    while_ = [f"bucket {bucket} holds more than its hard limit"] if bucket else []
    if short:
        while_.append(f"{_listed(short)} short")
    return f"holds {amounts} more than it deserves while {' and '.join(while_)}"


def _listed(names: Sequence[str]) -> str:
    shown, others = ", ".join(names[:NAMED_MAX]), len(names) - NAMED_MAX
    return f"{shown} and {others} more are" if others > 0 else f"{shown} {'is' if len(names) == 1 else 'are'}"


def reservation_cut(in_force: str, *, limited: bool) -> str:
    """How much of a reservation is in force, where that is not all of it."""
    why = "limits are below it" if limited else "all reservations together exceed the cluster"
    return f"{why}: in force: {in_force}"


# -- admission ----------------------------------------------------------------------------------------------------

THE_QUOTA = "the ResourceQuota of the namespace"
THE_CLUSTER = "the cluster's"


def limit_of_bucket(bucket: str) -> str:
    """Whose bound it is, before an amount."""
    return f"bucket {bucket}'s hard limit of"


def circle(parent: str, bucket: str, names: Sequence[str]) -> str:
    """A bucket that is in itself."""
    return f"spec.parent: {parent} (expected a bucket that is not in this one: {bucket} is in {' in '.join(names)})"


def too_deep(parent: str, levels: int) -> str:
    """Too many buckets above one another."""
    return f"spec.parent: {parent} (expected at most {levels} buckets above one another)"


def above_bound(stated: str, bound: str, whose: str) -> str:
    """An amount of a Consumer, and the bound that itself or its namespace sets."""
    return f"{stated} (expected at most {bound}, {whose})"


def reserves_too_much(stated: str, bound: str, whose: str, others: str) -> str:
    """A reservation, the bound of a bucket or of the cluster, and what ``others`` reserve of it, if anything."""
    reserved = f", of which others reserve {others}" if others else ""
    return f"{stated} (expected to be within {whose} {bound}{reserved})"
