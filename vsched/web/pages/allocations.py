"""The page ``/allocations``: what namespaces deserve, use and ask for, as plain data. Pure, for any thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from vsched.arbitrator.effects import Overuse
from vsched.model.amounts.counted import render_counted
from vsched.model.arbitration.records import ArbitrationCondition, Award, Bucket, Claim, Division, NamespaceAccount
from vsched.web.findings import Findings

Quantities = dict[str, str]
"""By resource, as in a ResourceQuota."""


class ArbitrationConditionShown(TypedDict):
    """A condition in the status of an object."""

    type: str
    status: str
    reason: str
    message: str


class AwardShown(TypedDict):
    """What is deserved and may be held."""

    deserved: Quantities
    ceiling: Quantities
    hard: Quantities
    reserved: Quantities
    cut: Quantities


class ConsumerShown(TypedDict, total=False):
    """The Consumer in use, as its object states it."""

    consumer: str
    parent: str
    weight: int | None
    stated: dict[str, Quantities]


class AccountShown(ConsumerShown, total=False):
    """What a namespace holds and waits for."""

    allocated: Quantities
    leaving: Quantities
    waiting: Quantities


class OveruseShown(TypedDict):
    """How much more than it deserves a namespace holds."""

    since: float
    seconds: float
    excess: Quantities
    degree: float
    short: list[str]


class NamespaceAllocationShown(AwardShown, AccountShown):
    """A namespace."""

    overused: OveruseShown | None
    conditions: list[ArbitrationConditionShown]
    evicted: int


class BucketObjectShown(TypedDict):
    """What the object of a bucket says, and what is in it."""

    weight: int
    exists: bool
    parent: str
    buckets: list[str]
    namespaces: list[str]


class BucketShown(AwardShown, BucketObjectShown):
    """A bucket."""

    conditions: list[ArbitrationConditionShown]


class AllocationsShown(TypedDict, total=False):
    """The last round of arbitration; empty before the first."""

    at: float
    total: Quantities
    namespaces: dict[str, NamespaceAllocationShown]
    buckets: dict[str, BucketShown]


def allocations(findings: Findings) -> AllocationsShown:
    """The last round of arbitration; empty before the first."""
    found = findings.arbitrated
    if found is None:
        return {}
    accounts, verdict = found.arbitration.parties, found.verdict
    evicted = dict(findings.arbitrated_away)
    return {
        "at": found.now,
        "total": render_counted(found.division.total),
        "namespaces": {
            namespace: {
                **_amounts(found.award(namespace) or award),
                **_account(accounts.get(namespace)),
                "overused": _overuse(verdict.overused.get(namespace), found.now),
                "conditions": _conditions(verdict.conditions.get(namespace, ())),
                "evicted": evicted.get(namespace, 0),
            }
            for namespace, award in sorted(found.division.namespaces.items())
        },
        "buckets": {
            name: {
                **_amounts(award),
                **_bucket(found.arbitration.buckets.get(name), name, accounts, found.division),
                "conditions": _conditions(verdict.of_buckets.get(name, ())),
            }
            for name, award in sorted(found.division.buckets.items())
        },
    }


def _amounts(award: Award) -> AwardShown:
    return {
        "deserved": render_counted(award.deserved),
        "ceiling": render_counted(award.ceiling),
        "hard": render_counted(award.hard),
        "reserved": render_counted(award.reserved),
        "cut": render_counted(award.cut),
    }


def _account(account: NamespaceAccount | None) -> AccountShown:
    if account is None:
        return {}
    return {
        "allocated": render_counted(account.held),
        "leaving": render_counted(account.leaving),
        "waiting": render_counted(account.waiting),
        **_claim(account.claim),
    }


def _claim(claim: Claim | None) -> ConsumerShown:
    """The Consumer in use, as its object states it."""
    if claim is None:
        return {"consumer": "", "parent": ""}
    stated = {"hard": dict(claim.stated_hard), "reserved": dict(claim.stated_reserved)}
    return {"consumer": claim.name, "parent": claim.parent, "weight": claim.weight or None, "stated": stated}


def _overuse(overuse: Overuse | None, now: float) -> OveruseShown | None:
    if overuse is None:
        return None
    return {
        "since": overuse.since,
        "seconds": round(max(0.0, now - overuse.since), 3),
        "excess": render_counted(overuse.excess),
        "degree": round(overuse.degree, 6),
        "short": list(overuse.claimants),
    }


def _conditions(conditions: tuple[ArbitrationCondition, ...]) -> list[ArbitrationConditionShown]:
    return [
        {"type": condition.kind, "status": condition.status, "reason": condition.reason, "message": condition.message}
        for condition in conditions
    ]


def _bucket(
    bucket: Bucket | None, name: str, accounts: Mapping[str, NamespaceAccount], division: Division
) -> BucketObjectShown:
    """A bucket without an object counts as one without limits, reservation or weight."""
    parents = division.parents
    below = sorted(
        namespace
        for namespace, account in accounts.items()
        if account.claim is not None and account.claim.parent == name
    )
    return {
        "weight": bucket.weight if bucket is not None else 1,
        "exists": bucket is not None,
        "parent": parents.get(name, ""),
        "buckets": sorted(inner for inner, parent in parents.items() if parent == name),
        "namespaces": below,
    }
