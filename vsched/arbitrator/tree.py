"""Buckets in buckets: what stands above what. A bucket that only others name has no limits and no reservation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Bucket, NamespaceAccount

LEVELS_MAX = 16
"""So many buckets may stand above one; more than that are a mistake, and cost every namespace below."""


def parent_of(party: NamespaceAccount) -> str:
    """The bucket that a namespace is in, empty for none."""
    return party.claim.parent if party.claim is not None and party.namespace != SYSTEM_NAMESPACE else ""


def all_buckets(stated: Mapping[str, Bucket], parties: Iterable[NamespaceAccount] = ()) -> dict[str, Bucket]:
    """Those that exist, and those that Consumers or other buckets name."""
    named = {parent_of(party) for party in parties} | {bucket.parent for bucket in stated.values()}
    return {name: Bucket(name) for name in sorted(named) if name} | dict(stated)


def stated_above(name: str, buckets: Mapping[str, Bucket]) -> tuple[str, ...]:
    """The buckets above one as they are stated, the nearest first; one more than may be where there is no end."""
    found: list[str] = []
    while len(found) <= LEVELS_MAX and (bucket := buckets.get(name)) is not None and bucket.parent:
        name = bucket.parent
        found.append(name)
    return tuple(found)


def parents_of(buckets: Mapping[str, Bucket]) -> dict[str, str]:
    """The bucket that each stands in, empty for none: one that has no end above it stands in none."""
    return {
        name: bucket.parent if len(stated_above(name, buckets)) <= LEVELS_MAX else ""
        for name, bucket in buckets.items()
    }


def path(name: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """A bucket and those above it, the nearest first; nothing for the empty name."""
    found: list[str] = []
    while name:
        found.append(name)
        name = parents.get(name, "")
    return tuple(found)
