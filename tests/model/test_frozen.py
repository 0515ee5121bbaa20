"""A frozen snapshot says the same for ever, whatever the mirror does next."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from tests.support.builders import node, pod
from tests.support.devices import allocated, device_class, pod_claims, resource_claim, resource_slice
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from tests.support.volumes import attachment, claim, claim_volumes, volume
from vsched.api.manifests import Origin, decode_manifests
from vsched.framework.cycle import run_cycle
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.frozen import freeze
from vsched.model.history.records import Decay
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

BEFORE = """
node n1 cpu=4 memory=8Gi zone=a
node n2 cpu=4 memory=8Gi zone=b
queue q weight=1
job ns/runs min=2 pods=0 queue=q
pods ns/runs 2 cpu=1 on=n1 labels=app:web port=80
job ns/waits min=3 pods=3 cpu=3 queue=q apart=runs
"""
AFTER = """
node n0 cpu=16 memory=8Gi zone=c
node n2 cpu=4 memory=8Gi zone=b cordoned
queue q weight=5
job ns/other min=1 pods=4 cpu=1 queue=q labels=app:db port=81 apart=waits
"""


def told(cache: Mirror, text: str) -> None:
    found = decode_manifests((Origin("test", str(at)), each) for at, each in enumerate(manifests(text)))
    for kind, objects in found.objects.items():
        for each in objects:
            cache.intake.apply(kind, "ADDED", each)


def decided(snapshot: Snapshot) -> object:
    return run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)


def test_a_frozen_snapshot_decides_as_it_did_after_the_mirror_has_gone_on() -> None:
    cache = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
    told(cache, BEFORE)
    snapshot = cache.snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    frozen = freeze(snapshot)

    cache.assumptions.settle(report, NOW)
    told(cache, AFTER)
    after = cache.snapshot(NOW + 60)

    assert decided(frozen) == report
    assert decided(after) != report


def test_nothing_that_changes_in_place_is_shared() -> None:
    cache = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True, arbitrating=True))
    told(cache, BEFORE)
    snapshot = cache.snapshot(NOW)
    frozen = freeze(snapshot)

    for field in fields(Snapshot):
        mine, theirs = getattr(frozen, field.name), getattr(snapshot, field.name)
        assert type(mine) is type(theirs) or field.name in ("active", "state", "since"), field.name
    amounts = [name for name in snapshot.nodes.__slots__ if isinstance(getattr(snapshot.nodes, name), np.ndarray)]
    assert "idle" in amounts
    for name in amounts:
        assert not np.shares_memory(getattr(frozen.nodes, name), getattr(snapshot.nodes, name)), name
    assert frozen.jobs is not snapshot.jobs
    assert frozen.placed.counts is not snapshot.placed.counts


def test_the_history_of_a_frozen_snapshot_stays_as_it_was() -> None:
    cache = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
    cache.history.keep([Decay(3600.0)])
    told(cache, BEFORE)
    cache.snapshot(NOW)
    frozen = freeze(cache.snapshot(NOW + 60)).history
    before = frozen.record()
    told(cache, AFTER)
    cache.snapshot(NOW + 8000)
    assert before.present is not None
    assert frozen.record() == before


def test_the_claims_of_a_frozen_snapshot_stay_as_they_were() -> None:
    user = pod("p", node="n1", spec={"volumes": claim_volumes("data"), "resourceClaims": pod_claims(gpu="c")})
    before = [node("n1"), resource_slice("n1", 2), device_class(), resource_claim("c"), claim("data", volume="pv")]
    cache = mirror([*before, volume("pv", claim="ns/data"), user, attachment("pv", "n1")])
    snapshot = cache.snapshot(NOW)
    frozen = freeze(snapshot)
    seen = shown(frozen)

    changed = [allocated(resource_claim("c"), "n1", "gpu-0", pods=[user]), claim("data", selected_node="n1")]
    for one in [*changed, volume("pv", "9Gi"), attachment("other", "n1"), pod("q", node="n1", spec=user["spec"])]:
        [read] = decode_manifests([(Origin("test", ""), one)]).objects[one["kind"]]
        cache.intake.apply(one["kind"], "MODIFIED", read)
    after = cache.snapshot(NOW + 1)

    assert shown(frozen) == seen
    for at, name in enumerate(("claims", "volumes", "users", "by_node", "attachments", "claims", "allocated", "users")):
        assert shown(after)[at] != seen[at], name


def shown(snapshot: Snapshot) -> list[object]:
    """What of the claims the mirror updates in place."""
    volumes, devices = snapshot.claims.volumes, snapshot.claims.devices
    maps = (volumes.claims, volumes.volumes, volumes.users, volumes.by_node, volumes.attachments)
    return [repr(found) for found in (*maps, devices.claims, devices.allocated, devices.users)]
