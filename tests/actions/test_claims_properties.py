"""Random clusters with volumes and devices: what holds for every plan, looked at without the code that made it."""

from __future__ import annotations

from collections import Counter

import msgspec
from hypothesis import given, settings

from tests.support import devices as d
from tests.support import volumes as v
from tests.support.claim_cases import POLICY, Case, cases, gpu, held
from tests.support.examples import examples
from tests.support.plans import NOW, mirror
from tests.support.taking import kept
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.claims.devices import AllocatedDevice, DeviceClaim, DeviceId
from vsched.model.maps import as_dict
from vsched.model.pods.status import Status
from vsched.settings.built_in import REGISTRY

MANY = settings(max_examples=examples(40), deadline=None)
LARGE = 60 * (1 << 30) * 1000
"""60Gi in thousandths of bytes."""


def given_to(claim: DeviceClaim) -> tuple[AllocatedDevice, ...]:
    """The devices of a claim that has some."""
    assert claim.allocation is not None, claim.key
    return claim.allocation.devices


@MANY
@given(cases())
def test_gangs_are_bound_as_a_whole_or_not_at_all(case: Case) -> None:
    snapshot, report = case.report()
    bound = Counter(bind.job for bind in report.binds)

    for key, count in bound.items():
        job = snapshot.jobs[key]
        assert job.ready + count >= job.spec.min_member, key


@MANY
@given(cases())
def test_no_device_is_given_twice_and_each_claim_gets_what_it_asks_for(case: Case) -> None:
    snapshot, report = case.report()
    devices = snapshot.claims.devices
    used = Counter(one.device for claim in devices.allocated.values() for one in given_to(claim))
    models = {device.id: device.model for pool in devices.pools for device in pool.devices}
    chosen: dict[str, tuple[DeviceId, ...]] = {}
    for bind in report.binds:
        if bind.claims is None:
            continue
        for choice in bind.claims.devices:
            got = tuple(one.device for one in choice.allocation.devices)
            assert chosen.setdefault(choice.claim, got) == got, "two jobs that share a claim have the same choice"
        for key in bind.claims.reserve:
            claim = devices.claims[key]
            has = chosen.get(key) or tuple(one.device for one in given_to(claim))
            assert {device.pool for device in has} == {bind.node}, "the pod is where its devices are"
    for key, got in chosen.items():
        used.update(got)
        spec = devices.claims[key].spec
        ((request,),) = spec.requests
        assert len(got) == request.count
        if request.selectors:
            assert all(amount > LARGE for device in got for _, amount in models[device].capacity)
        if spec.constraints:
            assert len({models[device] for device in got}) == 1
    assert all(count == 1 for count in used.values()), used


@MANY
@given(cases())
def test_no_volume_is_given_twice_and_no_node_gets_more_than_it_can_attach(case: Case) -> None:
    snapshot, report = case.report()
    volumes, statics = snapshot.claims.volumes, snapshot.nodes.statics
    given_away: Counter[str] = Counter()
    attached: Counter[str] = Counter()
    for bind in report.binds:
        for choice in bind.claims.volumes if bind.claims is not None else ():
            zone = statics.attributes[statics.row[bind.node]].labels[v.ZONE]
            attached[bind.node] += 1
            if choice.volume:
                given_away[choice.volume] += 1
                assert volumes.volumes[choice.volume].affinity is not None
                assert zone in str(volumes.volumes[choice.volume].affinity)
            elif volumes.claims[choice.claim].storage_class == "zoned":
                assert zone == "a", "allowedTopologies"
    assert all(count == 1 for count in given_away.values())
    for node, count in attached.items():
        limit = volumes.limits.get(node, {}).get(v.DRIVER)
        assert limit is None or count <= limit


@MANY
@given(cases())
def test_equal_inputs_give_equal_plans(case: Case) -> None:
    (_, first), (_, second) = case.report(), case.report()

    assert msgspec.json.encode(first, enc_hook=as_dict) == msgspec.json.encode(second, enc_hook=as_dict)


@MANY
@given(cases())
def test_pods_that_are_bound_now_use_nothing_that_others_still_have_to_leave(case: Case) -> None:
    snapshot, report = case.report()
    leaving = {one.uid for one in report.evictions}
    held = {
        one.device
        for claim in snapshot.claims.devices.allocated.values()
        if any(consumer.uid in leaving for consumer in claim.consumers)
        for one in given_to(claim)
    }
    now = {
        one.device
        for bind in report.binds
        if bind.claims is not None
        for choice in bind.claims.devices
        for one in choice.allocation.devices
    }

    assert not held & now


@MANY
@given(cases())
def test_a_session_that_is_undone_finds_the_same_nodes_again(case: Case) -> None:
    """Whatever the actions placed, evicted and withdrew: with all of it undone, every task has the choice it had."""
    snapshot = mirror(case.manifests()).snapshot(NOW)
    fresh = _choices(Session(snapshot, POLICY, REGISTRY, Trace()))
    session = Session(snapshot, POLICY, REGISTRY, Trace())
    for name in POLICY.actions:
        REGISTRY.actions[name].run(session)
    session.ledger.undo_to(0)

    assert _choices(session) == fresh


def _choices(session: Session) -> dict[str, object]:
    tasks = [task for job in session.jobs.values() for task in job.job.pending.values()]
    assert all(task.status is Status.PENDING for task in tasks)
    found: dict[str, object] = {}
    for task in tasks:
        choice = session.node_selection.choose(task)
        room = session.node_selection.room(task)
        found[task.uid] = (choice, room.tasks, session.node_selection.explain(task).reasons)
    return found


def test_pods_keep_the_devices_that_were_found_for_them_when_a_victim_leaves() -> None:
    """Only one way serves both pods: the first gets unlike devices, so that two alike are left for the second."""
    text = (
        "class high 9\nnode n1 cpu=4\njob ns/run pods=1 cpu=1 on=n1 phase=Running\n"
        "job ns/a class=high min=2\npods ns/a 1 cpu=0\npods ns/a 1 cpu=0\n"
    )
    first = d.resource_claim("a.0", d.request("gpu", 2))
    alike = d.resource_claim("a.1", d.request("gpu", 2), constraints=[{"matchAttribute": f"{d.DRIVER}/model"}])
    slices = d.resource_slice("n1", [gpu(0, 40), gpu(1, 40), gpu(2, 40), gpu(3, 80)])
    objects = d.device_class(), slices, held("run.0", "n1", "gpu-0"), first, alike
    claims = {pod: d.pod_claims(gpu=pod) for pod in ("run.0", "a.0", "a.1")}
    _, report = Case(text, objects, claims).report()
    assert [eviction.name for eviction in report.evictions] == ["run.0"]
    assert kept(report) == {"a.0": "n1", "a.1": "n1"}
