"""Random native PodGroups whose pods share claims: what holds for every plan."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support import devices
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.claims.devices import ClaimConsumer
from vsched.model.jobs.native import native_key
from vsched.settings.built_in import REGISTRY

Fields = dict[str, Any]
MANY = settings(max_examples=examples(60), deadline=None)
ENTRY = {"name": "gpu", "resourceClaimTemplateName": "t"}


class Group(NamedTuple):
    """A gang whose pods share one claim for so many devices."""

    name: str
    minimum: int
    pods: int
    asks: int


@st.composite
def groups(draw: st.DrawFn) -> list[Group]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        minimum = draw(st.integers(1, 4))
        found.append(Group(f"g{number}", minimum, minimum + draw(st.integers(0, 2)), draw(st.integers(1, 3))))
    return found


def objects(nodes: list[tuple[int, int]], gangs: list[Group]) -> list[Fields]:
    """Nodes with so many cpus and devices, and the groups with the claims that were made for them."""
    made: list[Fields] = [make.queue("default"), devices.device_class()]
    for number, (cpus, count) in enumerate(nodes):
        amounts = {"cpu": str(cpus), "memory": "64Gi", "pods": "99"}
        made.append(make.node(f"n{number}", status={"allocatable": amounts}))
        if count:
            made.append(devices.resource_slice(f"n{number}", count))
    for gang in gangs:
        about = {"name": gang.name, "namespace": "ns", "uid": f"uid-{gang.name}"}
        policy = {"gang": {"minCount": gang.minimum}}
        spec = {"schedulingPolicy": policy, "resourceClaims": [ENTRY]}
        made.append({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": about, "spec": spec})
        owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", **about, "controller": True}
        claim = devices.resource_claim(f"{gang.name}-gpu", devices.request("gpu", gang.asks))
        made.append(make.merged(claim, {"metadata": {"ownerReferences": [owner]}}))
        status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{gang.name}-gpu"}]}
        asked = {"schedulingGroup": {"podGroupName": gang.name}, "resourceClaims": [ENTRY]}
        made += [
            make.pod(f"{gang.name}-{number}", spec={**asked, "containers": [make.container("1")]}, status=status)
            for number in range(gang.pods)
        ]
    return made


@MANY
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 4)), min_size=1, max_size=4), groups())
def test_groups_start_whole_with_devices_of_their_own(nodes: list[tuple[int, int]], gangs: list[Group]) -> None:
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    for fields in objects(nodes, gangs):
        kind = api.kind_of(fields.get("apiVersion", ""), fields["kind"])
        cache.intake.apply(kind, "ADDED", api.read(kind, msgspec.json.encode(fields)))
    report = run_cycle(cache.snapshot(NOW), DEFAULT_POLICY, REGISTRY)

    bound = Counter(bind.job for bind in report.binds)
    places: dict[str, set[str]] = {}
    given_away: Counter[object] = Counter()
    for bind in report.binds:
        assert bind.claims is not None
        name = bind.name.partition("-")[0]
        key = f"ns/{name}-gpu"
        consumer = ClaimConsumer(f"uid-{name}", name, "podgroups", "scheduling.k8s.io")
        assert bind.claims.reserve == (key,)
        assert bind.claims.consumer(key, bind.uid, bind.name) == consumer
        places.setdefault(name, set()).add(bind.node)
        for choice in bind.claims.devices:
            given_away.update({(one.device, choice.claim) for one in choice.allocation.devices})
    cache.assumptions.assume(report)
    held = Counter(
        one.device
        for claim in cache.snapshot(NOW).claims.devices.allocated.values()
        for one in (claim.allocation.devices if claim.allocation is not None else ())
    )
    assert all(count == 1 for count in held.values()), "no device belongs to two claims"
    for gang in gangs:
        count = bound[native_key("ns", gang.name)]
        assert not count or count >= gang.minimum, "all or nothing"
        assert len(places.get(gang.name, ())) <= 1, "the devices are on one node"
        claim = cache.snapshot(NOW).claims.devices.claims[f"ns/{gang.name}-gpu"]
        assert len(claim.consumers) == (1 if count else 0)
        assert len(claim.allocation.devices if claim.allocation is not None else ()) == (gang.asks if count else 0)
    if not report.binds:
        best = [gang for gang in gangs for cpus, count in nodes if cpus >= gang.minimum and count >= gang.asks]
        assert not best, "a group that fits somewhere starts"
