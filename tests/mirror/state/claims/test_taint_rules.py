"""DeviceTaintRules: which devices get the taint, and what is put together again when a rule changes."""

from __future__ import annotations

import pytest

from tests.support import builders as make
from tests.support import devices
from tests.support.mirrors import World
from vsched.mirror.ingest.words import devices as words
from vsched.model.claims.catalogue import NO_CLAIMS
from vsched.model.claims.devices import DevicePool

Fields = make.Fields
SLICES = (
    devices.resource_slice("n1", 2),
    devices.resource_slice("n2", 2),
    devices.resource_slice("n1", 1, driver="nic.example.com"),
)


def pools(world: World) -> dict[str, DevicePool]:
    return {f"{pool.driver}/{pool.name}": pool for pool in world.snapshot().claims.devices.pools}


def tainted(world: World) -> dict[str, list[str]]:
    """The taints of each device that has some."""
    return {
        device.id.path: [f"{one.taint.key}={one.taint.value}:{one.taint.effect}" for one in device.traits.taints]
        for pool in pools(world).values()
        for device in pool.devices
        if device.traits.taints
    }


GPU, NIC = devices.DRIVER, "nic.example.com"


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        pytest.param(devices.taint_rule(driver=GPU, pool="n1", device="gpu-1"), [f"{GPU}/n1/gpu-1"], id="one device"),
        pytest.param(
            devices.taint_rule(driver=GPU, pool="n2"), [f"{GPU}/n2/gpu-0", f"{GPU}/n2/gpu-1"], id="all of a pool"
        ),
        pytest.param(devices.taint_rule(driver=NIC), [f"{NIC}/n1/gpu-0"], id="all of a driver"),
        pytest.param(
            devices.taint_rule(device="gpu-0"),
            [f"{GPU}/n1/gpu-0", f"{GPU}/n2/gpu-0", f"{NIC}/n1/gpu-0"],
            id="devices of a name, whoever has them",
        ),
        pytest.param(
            devices.taint_rule(pool="n1"),
            [f"{GPU}/n1/gpu-0", f"{GPU}/n1/gpu-1", f"{NIC}/n1/gpu-0"],
            id="pools of a name, whoever has them",
        ),
        pytest.param(devices.taint_rule(driver="other"), [], id="nothing that is there"),
        pytest.param(
            make.merged(devices.taint_rule(), {"spec": {"deviceSelector": None}}), [], id="no selector selects nothing"
        ),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["the rule comes first", "the slices come first"])
def test_which_devices_a_rule_taints(rule: Fields, names: list[str], first: bool) -> None:
    world = World(*((rule, *SLICES) if first else (*SLICES, rule)))
    assert tainted(world) == {name: ["broken=yes:NoSchedule"] for name in names}


def test_an_empty_selector_selects_all() -> None:
    world = World(*SLICES, devices.taint_rule())
    assert len(tainted(world)) == 5


def test_taints_of_rules_come_after_those_of_the_driver_in_the_order_of_their_names() -> None:
    slice_ = devices.resource_slice("n1", [devices.device("gpu-0", taints=["own=x:NoExecute"])])
    world = World(slice_, devices.taint_rule("b", "b=1:None"), devices.taint_rule("a", "a=1:NoExecute"))
    assert tainted(world) == {f"{GPU}/n1/gpu-0": ["own=x:NoExecute", "a=1:NoExecute", "b=1:None"]}


def test_only_the_pools_of_a_rule_are_put_together_again() -> None:
    world = World(*SLICES)
    before = pools(world)
    rule = devices.taint_rule(driver=GPU, pool="n1")
    assert world.wakes_for(rule)
    assert not world.wakes_for(rule), "nothing changed"
    after = pools(world)
    assert [name for name in after if after[name] is not before[name]] == [f"{GPU}/n1"]
    world.add(devices.taint_rule(driver=GPU, pool="n2"))
    assert list(tainted(world)) == [f"{GPU}/n2/gpu-0", f"{GPU}/n2/gpu-1"], "the rule is about another pool now"
    world.delete(rule)
    assert tainted(world) == {}


def test_a_rule_about_nothing_that_is_there_wakes_nobody() -> None:
    assert not World(*SLICES).wakes_for(devices.taint_rule(driver="other"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(
            {"taint": {"effect": "Always"}},
            words.unknown_taint_effect("spec.taint", "Always", "NoSchedule, NoExecute, None"),
            id="an effect that is unknown",
        ),
        pytest.param(
            {"deviceSelector": {"deviceClassName": "gpu"}},
            words.selector_not_supported("deviceClassName"),
            id="a device class, which older versions know",
        ),
        pytest.param(
            {"deviceSelector": {"selectors": [{"cel": {"expression": "true"}}]}},
            words.selector_not_supported("selectors"),
            id="an expression, which older versions know",
        ),
    ],
)
def test_a_rule_that_makes_no_sense_taints_nothing_and_is_named(change: Fields, why: str) -> None:
    world = World(*SLICES, make.merged(devices.taint_rule(), {"spec": change}))
    assert tainted(world) == {}
    assert list(world.cache.broken) == [("DeviceTaintRule", "rule")]
    assert why in str(world.cache.broken["DeviceTaintRule", "rule"])


def test_a_cluster_that_does_not_serve_rules_lacks_nothing() -> None:
    world = World()
    world.cache.intake.set_unread("DeviceTaintRule", "404 Not Found")
    assert world.snapshot().claims is NO_CLAIMS
