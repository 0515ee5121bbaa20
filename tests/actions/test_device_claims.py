"""Cycles over clusters whose pods claim devices: gangs, shared claims, victims, and what is written for them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.actions.device_plans import decided, held, own
from tests.support import devices as d
from tests.support import volumes as v
from tests.support.plans import Manifest, Plan
from tests.support.taking import taking
from vsched.framework.words.nodes import OUT_OF_REACH, TOO_FEW_DEVICES, available
from vsched.model.claims.plan import ClaimRelease

PREEMPTING = taking("allocate, preempt, backfill", "priority gang-P conformance", "predicates nodeorder")


def given(plan: Plan) -> dict[str, list[str]]:
    """By pod: the devices that are chosen with it, as pool/device."""
    return {
        bind.name: [
            f"{one.device.pool}/{one.device.device}"
            for choice in bind.claims.devices
            for one in choice.allocation.devices
        ]
        for bind in plan.reports[0].binds
        if bind.claims is not None
    }


def test_a_pod_gets_a_device_on_the_only_node_that_has_one() -> None:
    plan = decided(
        "node n1 cpu=2\nnode n2 cpu=2\njob ns/a pods=1 cpu=1\n",
        d.resource_slice("n2"),
        d.resource_claim("mine"),
        uses={"a.0": "mine"},
    )

    assert plan.nodes == {"a.0": "n2"}
    assert given(plan) == {"a.0": ["n2/gpu-0"]}
    (bind,) = plan.reports[0].binds
    assert bind.claims is not None
    assert bind.claims.reserve == ("ns/mine",)


NODES = "node n1 cpu=8\nnode n2 cpu=8\n"


@pytest.mark.parametrize(
    ("slices", "bound"),
    [
        pytest.param((4, 4), 4, id="two pods on each of two nodes"),
        pytest.param((4, 3), 0, id="one device too few: no pod at all"),
        pytest.param((8, 0), 4, id="all on one node"),
        pytest.param((7, 1), 0, id="as many devices, but a pod's are on one node"),
    ],
)
def test_gangs_get_all_their_devices_or_none(slices: tuple[int, int], bound: int) -> None:
    pods = [f"a.{number}" for number in range(4)]
    published = [d.resource_slice(f"n{at + 1}", count) for at, count in enumerate(slices) if count]
    plan = decided(
        f"{NODES}job ns/a min=4 pods=4 cpu=1\n", *published, *own(*pods, count=2), uses={name: name for name in pods}
    )

    assert len(plan.nodes) == bound
    devices = [name for names in given(plan).values() for name in names]
    assert len(set(devices)) == len(devices) == 2 * bound
    assert all(name.startswith(plan.nodes[pod]) for pod, names in given(plan).items() for name in names)
    if not bound:
        assert "cannot allocate all claims" in plan.why("ns/a.0") or "its gang" in plan.why("ns/a.0")
        assert plan.message("ns/a").startswith("the gang needs 4, 3 fit")


def test_pods_that_share_a_claim_go_where_its_devices_are() -> None:
    """The first pod brings the choice; the claim is reserved for each."""
    plan = decided(
        f"{NODES}job ns/a min=2 pods=2 cpu=4\n",
        d.resource_slice("n2"),
        d.resource_claim("ours"),
        uses={"a.0": "ours", "a.1": "ours"},
    )

    assert plan.nodes == {"a.0": "n2", "a.1": "n2"}
    assert given(plan) == {"a.0": ["n2/gpu-0"], "a.1": []}
    assert [bind.claims and bind.claims.reserve for bind in plan.reports[0].binds] == [("ns/ours",)] * 2


def test_jobs_that_share_a_claim_each_bring_the_choice() -> None:
    """Each job is written by itself, and the other one may fail."""
    plan = decided(
        f"{NODES}job ns/a pods=1 cpu=4\njob ns/b pods=1 cpu=4\n",
        d.resource_slice("n2"),
        d.resource_claim("ours"),
        uses={"a.0": "ours", "b.0": "ours"},
    )

    assert given(plan) == {"a.0": ["n2/gpu-0"], "b.0": ["n2/gpu-0"]}


def test_devices_that_a_claim_has_already_stay_its_own() -> None:
    plan = decided(
        f"{NODES}job ns/a pods=1 cpu=4\n",
        d.resource_slice("n1"),
        d.resource_slice("n2"),
        held(d.resource_claim("mine"), "n2", "gpu-0", by=["a.0"]),
        uses={"a.0": "mine"},
    )

    assert plan.nodes == {"a.0": "n2"}
    assert given(plan) == {"a.0": []}
    assert plan.reports[0].released == ()


def test_devices_that_a_pod_holds_in_vain_are_given_back() -> None:
    text = f"{NODES}job ns/old pods=1 cpu=8 on=n2 phase=Running\njob ns/a pods=1 cpu=4\n"
    plan = decided(
        text,
        d.resource_slice("n1"),
        d.resource_slice("n2"),
        held(d.resource_claim("mine"), "n2", "gpu-0", by=["a.0"]),
        uses={"a.0": "mine"},
        cycles=2,
    )

    assert plan.nodes == {"a.0": "n1"}, "in the second cycle, with other devices"
    (release,) = plan.reports[0].released
    assert release == ClaimRelease("ns/mine", "uid-mine", True, "ns/a", release.reason)


def test_a_claim_that_one_pod_of_a_gang_gets_and_another_holds_in_vain_stays() -> None:
    text = f"{NODES}job ns/old pods=1 cpu=8 on=n1 phase=Running\njob ns/a min=1 pods=3 cpu=4\n"
    plan = decided(
        text,
        d.resource_slice("n2"),
        held(d.resource_claim("ours"), "n2", "gpu-0", by=["a.2"]),
        uses={f"a.{number}": "ours" for number in range(3)},
    )

    assert len(plan.nodes) == 2
    assert plan.reports[0].released == ()


FULL = f"""{NODES}
class high 9
job ns/by pods=1 cpu=1 on=n1 phase=Running
job ns/old pods=1 cpu=1 on=n2 phase=Running
job ns/a class=high pods=1 cpu=1
"""


def test_a_victim_is_found_that_frees_only_a_device() -> None:
    """Both nodes have room for the pod. Only the pod on n2 has a device."""
    old, mine = own("old.0", "a.0")
    plan = decided(
        FULL,
        d.resource_slice("n2"),
        held(old, "n2", "gpu-0", by=["old.0"]),
        mine,
        uses={"old.0": "old.0", "a.0": "a.0"},
        policy=PREEMPTING,
    )

    assert plan.evicted == [["old.0"]]
    assert [(one.name, one.node) for one in plan.reports[0].nominations] == [("a.0", "n2")]
    assert plan.nodes == {}, "the device is free once the victim has left"


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="a claim that does not exist"),
        pytest.param([d.resource_claim("a.0", d.request(device_class="other"))], id="a class that does not exist"),
        pytest.param([d.resource_claim("a.0", d.request("gpu", 1, "device.nonsense("))], id="a broken selector"),
    ],
)
def test_a_claim_that_cannot_be_used_evicts_nobody(objects: list[Manifest]) -> None:
    (old,) = own("old.0")
    plan = decided(
        FULL,
        d.resource_slice("n2"),
        held(old, "n2", "gpu-0", by=["old.0"]),
        *objects,
        uses={"old.0": "old.0", "a.0": "a.0"},
        policy=PREEMPTING,
    )

    assert plan.evicted == [[]]
    assert plan.jobs["ns/a"].code == "Claim"
    assert plan.why("ns/a.0").startswith("0/2 nodes are available: ")


def test_devices_that_no_victim_has_evict_nobody() -> None:
    plan = decided(FULL, d.resource_slice("n2"), *own("a.0", count=2), uses={"a.0": "a.0"}, policy=PREEMPTING)

    assert plan.evicted == [[]]
    assert plan.why("ns/a.0") == available(2, {TOO_FEW_DEVICES: 2})


def test_the_exact_search_passes_over_nodes_that_only_seem_to_have_enough() -> None:
    """Node n1 has two devices, of two kinds; both devices of the claim must be of one kind."""
    kinds = {
        "n1": [d.device(f"gpu-{kind}", attributes={"kind": kind}) for kind in "ab"],
        "n2": [d.device(f"gpu-{number}", attributes={"kind": "a"}) for number in (0, 1)],
    }
    same = [{"matchAttribute": f"{d.DRIVER}/kind"}]
    claim = d.resource_claim("mine", d.request(count=2), constraints=same)
    plan = decided(
        f"{NODES}job ns/a pods=1 cpu=1\n",
        *(d.resource_slice(node, devices) for node, devices in kinds.items()),
        claim,
        uses={"a.0": "mine"},
    )
    assert given(plan) == {"a.0": ["n2/gpu-0", "n2/gpu-1"]}

    refused = decided(
        "node n1 cpu=8\njob ns/a pods=1 cpu=1\n", d.resource_slice("n1", kinds["n1"]), claim, uses={"a.0": "mine"}
    )
    assert refused.why("ns/a.0") == available(1, {TOO_FEW_DEVICES: 1})


def test_volumes_and_devices_have_to_be_on_one_node() -> None:
    text = "node n1 cpu=8 topology.kubernetes.io/zone=a\nnode n2 cpu=8 topology.kubernetes.io/zone=b\n"
    objects = [d.resource_slice("n1"), *own("a.0"), v.storage_class(), v.claim("data", volume="pv")]
    pod = f"{text}job ns/a\npods ns/a 1 cpu=1 claim=data\n"

    found = decided(pod, *objects, v.volume("pv", claim="ns/data", zone="a"), uses={"a.0": "a.0"})
    assert found.nodes == {"a.0": "n1"}
    nowhere = decided(pod, *objects, v.volume("pv", claim="ns/data", zone="b"), uses={"a.0": "a.0"})
    assert nowhere.why("ns/a.0") == available(2, {TOO_FEW_DEVICES: 1, OUT_OF_REACH: 1})


def test_a_preempted_device_goes_to_the_pod_that_it_was_freed_for() -> None:
    """The victim leaves between the cycles; until then, its device is nobody else's."""
    old, mine, other = own("old.0", "a.0", "b.0")
    plan = decided(
        f"{FULL}job ns/b pods=1 cpu=1\n",
        d.resource_slice("n2"),
        held(old, "n2", "gpu-0", by=["old.0"]),
        mine,
        other,
        uses={"old.0": "old.0", "a.0": "a.0", "b.0": "b.0"},
        policy=PREEMPTING,
        cycles=3,
    )

    assert plan.evicted == [["old.0"], [], []]
    assert plan.nodes == {"a.0": "n2"}


def test_gangs_take_devices_from_gangs() -> None:
    """As many victims as devices are wanted, and no more, though all pods of both nodes could be evicted."""
    text = f"{NODES}class high 9\n"
    claims, uses = list[Manifest](), dict[str, str | Iterable[str]]()
    for node in ("n1", "n2"):
        text += f"job ns/{node} phase=Running\npods ns/{node} 4 cpu=1 on={node}\n"
        for number in range(4):
            name = f"{node}.{number}"
            claims += [held(own(name)[0], node, f"gpu-{number}", by=[name])]
            uses[name] = name
    text += "job ns/a class=high min=2 pods=2 cpu=1\n"
    uses |= {"a.0": "a.0", "a.1": "a.1"}
    slices = [d.resource_slice("n1", 4), d.resource_slice("n2", 4)]
    plan = decided(text, *slices, *claims, *own("a.0", "a.1", count=3), uses=uses, policy=PREEMPTING, cycles=2)

    assert len(plan.evicted[0]) == 6
    assert sorted(plan.nodes) == ["a.0", "a.1"]
