"""Rounds of arbitration on clusters of a few lines, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from tests.support.plans import NOW, OUR_NAMES, Manifest, manifests
from vsched.api.manifests import Origin, decode_manifests
from vsched.arbitrator.division.divide import divide
from vsched.arbitrator.effects import RoundResult
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.placing import Placing
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.arbitration.records import ARBITRATOR_VERSION
from vsched.model.jobs.native import NativeGroup
from vsched.settings.built_in import REGISTRY

PLACING = Placing.of(REGISTRY)


def consumer(namespace: str, reserved: str = "", parent: str = "", weight: int = 1) -> Manifest:
    amounts = dict(word.split("=") for word in reserved.split())
    metadata = {"name": "defaults", "namespace": namespace, "uid": f"consumer-{namespace}"}
    spec = {"reserved": amounts, "weight": weight, "parent": parent}
    return {"apiVersion": ARBITRATOR_VERSION, "kind": "Consumer", "metadata": metadata, "spec": spec}


def bucket(name: str, reserved: str = "", hard: str = "", parent: str = "") -> Manifest:
    amounts = [dict(word.split("=") for word in said.split()) for said in (reserved, hard)]
    spec = {"reserved": amounts[0], "hard": amounts[1], "parent": parent}
    return {"apiVersion": ARBITRATOR_VERSION, "kind": "Bucket", "metadata": {"name": name, "uid": name}, "spec": spec}


def decided(
    text: str,
    *objects: Manifest,
    most: int = 1,
    grace: float = 0.0,
    owners: Iterable[tuple[str, str]] = (),
    spared: Iterable[str] = (),
    whole: Iterable[str] = (),
    placing: Placing = PLACING,
) -> RoundResult:
    """One round on a cluster in the language of ``tests.support.plans``; ``owners`` are kinds by job name, and pods
    that are ``spared`` could not be evicted before. The jobs ``whole`` leave as a whole or not at all."""
    found = [*manifests(text), *objects]
    for job, kind in owners:
        for one in found:
            if one["kind"] == "Pod" and one["metadata"]["labels"]["job"] == job:
                owner = {"apiVersion": "apps/v1", "kind": kind, "name": job, "uid": job, "controller": True}
                one["metadata"]["ownerReferences"] = [owner]
    cache = Mirror(MirrorSettings(frozenset(OUR_NAMES), open_without_state=True, arbitrating=True))
    decoded = decode_manifests((Origin("text", str(at)), each) for at, each in enumerate(found))
    for kind, each in decoded.objects.items():
        cache.intake.replace(kind, each)
    assert not cache.broken, cache.broken
    uids = {task.key: uid for party in cache.arbitration().parties.values() for uid, task in party.tasks.items()}
    for key in spared:
        cache.assumptions.spare(uids[key])
    snapshot = replace(cache.snapshot(NOW), arbitration=cache.arbitration())
    for key in whole:
        job = snapshot.jobs[key]
        job.spec = msgspec.structs.replace(job.spec, native=NativeGroup(whole=True))
    rules = ArbitrationRules(grace_seconds=grace, evictions_per_round=most)
    return reconcile(snapshot, divide(snapshot), rules, placing)


def gone(verdict: RoundResult) -> list[str]:
    """Who is evicted, and for whom."""
    assert all(eviction.action == "arbitrate" for eviction in verdict.evictions)
    return [f"{one.namespace}/{one.name} for {one.beneficiary}" for one in verdict.evictions]
