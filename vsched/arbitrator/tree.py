"""The tree of buckets. A bucket that exists only as a name in other objects has no limits and no reservation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Bucket, NamespaceAccount

LEVELS_MAX = 16
"""How many buckets may stand above one. A longer chain is a mistake, and would cost time for every namespace below."""


def parent_of(account: NamespaceAccount) -> str:
    """The bucket that a namespace is in, empty for none."""
    return account.claim.parent if account.claim is not None and account.namespace != SYSTEM_NAMESPACE else ""


def all_buckets(stated: Mapping[str, Bucket], accounts: Iterable[NamespaceAccount] = ()) -> dict[str, Bucket]:
    """The buckets that exist, and those that only Consumers or other buckets name."""
    named = {parent_of(account) for account in accounts} | {bucket.parent for bucket in stated.values()}
    return {name: Bucket(name) for name in sorted(named) if name} | dict(stated)


def stated_above(name: str, buckets: Mapping[str, Bucket]) -> tuple[str, ...]:
    """The stated parents of a bucket, the nearest first; cut at ``LEVELS_MAX + 1`` for longer chains and circles."""
    found: list[str] = []
    while len(found) <= LEVELS_MAX and (bucket := buckets.get(name)) is not None and bucket.parent:
        name = bucket.parent
        found.append(name)
    return tuple(found)


def parents_of(buckets: Mapping[str, Bucket]) -> dict[str, str]:
    """The parent of each bucket, empty for none. A bucket with more than ``LEVELS_MAX`` buckets above it has none."""
    return {
        name: bucket.parent if len(stated_above(name, buckets)) <= LEVELS_MAX else ""
        for name, bucket in buckets.items()
    }


def path(name: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """A bucket and the buckets above it, the nearest first; empty for the empty name."""
    found: list[str] = []
    while name:
        found.append(name)
        name = parents.get(name, "")
    return tuple(found)
