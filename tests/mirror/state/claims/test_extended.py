"""Extended resources that devices serve, as allocatable amounts of nodes."""

from __future__ import annotations

from tests.support import builders as make
from tests.support import devices
from tests.support.mirrors import World
from vsched.mirror.whatif.restoring import RestoredMirror
from vsched.model.claims.catalogue import DeviceCatalogue

Fields = make.Fields
GPU = "example.com/gpu"
OWN = f"deviceclass.resource.kubernetes.io/{devices.DRIVER}"
SERVES = devices.device_class(spec={"extendedResourceName": GPU})


def asks(resource: str = GPU, node: str = "") -> Fields:
    fields = make.pod("p", node=node)
    fields["spec"]["containers"] = [make.container("1")]
    fields["spec"]["containers"][0]["resources"]["requests"][resource] = 1
    return fields


def offered(world: World, resource: str = GPU) -> dict[str, int]:
    """The amount of the resource on each node, in whole devices."""
    found = world.snapshot()
    column = found.axis.find(resource)
    amounts = found.nodes.allocatable[column].tolist() if column is not None else []
    assert amounts == [] or found.total[column or 0] == sum(amounts)
    return {name: amount // 1000 for name, amount in zip(found.nodes.statics.names, amounts, strict=False) if amount}


def catalogue(world: World) -> DeviceCatalogue:
    return world.snapshot().claims.devices


def with_plugin(name: str, count: int = 4) -> Fields:
    return make.node(name, status={"allocatable": {"cpu": "4", GPU: str(count)}})


def test_devices_are_amounts_on_nodes_without_a_device_plugin() -> None:
    world = World(make.node("n1"), make.node("n2"), with_plugin("n3"), SERVES, asks())
    world.add(devices.resource_slice("n1", 2), devices.resource_slice("n3", 8))
    assert offered(world) == {"n1": 2, "n3": 4}
    column = world.cache.axis.find(GPU)
    assert catalogue(world).extended == {column: devices.DRIVER}
    assert catalogue(world).plugins == {column: frozenset({"n3"})}
    assert world.cache.total()[GPU] == 6000


def test_every_class_has_a_resource_of_its_own_name() -> None:
    world = World(make.node("n1"), devices.device_class(), devices.resource_slice("n1", 3), asks(OWN))
    assert offered(world, OWN) == {"n1": 3}
    assert list(catalogue(world).extended.values()) == [devices.DRIVER]


def test_what_nobody_asks_for_and_no_node_offers_is_no_column() -> None:
    world = World(make.node("n1"), SERVES, devices.resource_slice("n1", 3))
    assert offered(world) == {}
    assert catalogue(world).extended == {}
    world.add(asks())
    assert offered(world) == {"n1": 3}


def test_amounts_follow_slices_classes_and_nodes() -> None:
    world = World(make.node("n1"), SERVES, devices.resource_slice("n1", 2), asks())
    assert offered(world) == {"n1": 2}
    world.add(devices.resource_slice("n1", 5))
    assert offered(world) == {"n1": 5}
    world.add(with_plugin("n1", 1))
    assert offered(world) == {"n1": 1}, "the plugin counts, whatever devices there are"
    world.add(with_plugin("n1", 0))
    assert offered(world) == {"n1": 5}, "a plugin that left offers none"
    world.delete(make.node("n1"))
    assert offered(world) == {}
    world.add(make.node("n1"))
    assert offered(world) == {"n1": 5}
    world.add(make.node("n1", status={"allocatable": {"cpu": "9"}}))
    assert offered(world) == {"n1": 5}
    world.delete(SERVES)
    assert offered(world) == {}
    assert catalogue(world).plugins == {}


def test_pods_use_these_amounts() -> None:
    world = World(make.node("n1"), SERVES, devices.resource_slice("n1", 2), asks(node="n1"))
    found = world.snapshot()
    column = found.axis.find(GPU)
    assert column is not None
    assert found.nodes.idle[column].tolist() == [1000]


def test_devices_that_a_plain_request_cannot_get_do_not_count() -> None:
    some = [
        devices.device("a", taints=("k=v:NoSchedule",)),
        devices.device("b", taints=("k=v:None",)),
        devices.device("c"),
    ]
    chosen = devices.device_class(devices.DRIVER, "device.driver == 'other'", spec={"extendedResourceName": GPU})
    world = World(make.node("n1"), SERVES, devices.resource_slice("n1", some), asks())
    assert offered(world) == {"n1": 2}
    world.add(chosen)
    assert offered(world) == {}


def test_of_classes_with_one_resource_the_newest_serves_it() -> None:
    def named(name: str, second: int) -> Fields:
        return devices.device_class(
            name,
            "true",
            spec={"extendedResourceName": GPU},
            metadata={"creationTimestamp": f"2026-08-01T10:00:0{second}Z"},
        )

    world = World(make.node("n1"), named("b", 1), named("c", 2), named("a", 1), devices.resource_slice(), asks())
    assert list(catalogue(world).extended.values()) == ["c"]
    world.delete(named("c", 2))
    assert list(catalogue(world).extended.values()) == ["a"]


def test_while_nothing_changes_the_catalogue_is_the_same() -> None:
    world = World(make.node("n1"), SERVES, devices.resource_slice("n1", 2), asks())
    first = world.snapshot().claims
    world.add(make.node("n1", metadata={"annotations": {"note": "x"}}), make.pod("other", node="n1"))
    second = world.snapshot().claims
    assert second.devices.extended is first.devices.extended
    assert second is first


def test_a_cluster_on_paper_has_the_same_amounts() -> None:
    world = World(make.node("n1"), with_plugin("n2"), SERVES, devices.resource_slice("n1", 2), asks())
    found = world.snapshot()
    restored = RestoredMirror(found, ("volcano",)).snapshot(found.now)
    assert restored.nodes.allocatable.tolist() == found.nodes.allocatable.tolist()
    assert restored.claims.devices.extended == found.claims.devices.extended
    assert restored.claims.devices.plugins == found.claims.devices.plugins
