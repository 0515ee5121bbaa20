"""Devices by class as metrics."""

from __future__ import annotations

from tests.support.builders import Fields, node, pod
from tests.support.devices import allocated, device, device_class, resource_claim, resource_slice
from tests.support.plans import NOW, mirror
from vsched.web.metrics.device_gauges import of_devices

Values = dict[tuple[str, str], float]


def shown(*manifests: Fields) -> Values:
    """The values by class and state."""
    [family] = of_devices(mirror(manifests).snapshot(NOW))
    return {(one.labels["device_class"], one.labels["state"]): one.value for one in family.samples}


def test_devices_are_free_or_in_use_in_each_class_that_selects_them() -> None:
    user = pod("p", node="n1")
    large = device_class("large", 'device.attributes["gpu.example.com"].model == "h100"')
    models = {"gpu-0": "h100", "gpu-1": "a100", "gpu-2": "h100"}
    pool = resource_slice("n1", [device(name, attributes={"model": model}) for name, model in models.items()])
    taken = allocated(resource_claim("c"), "n1", "gpu-0", pods=[user])
    assert shown(node("n1"), device_class(), large, pool, taken, user) == {
        ("gpu.example.com", "allocated"): 1,
        ("gpu.example.com", "free"): 2,
        ("large", "allocated"): 1,
        ("large", "free"): 1,
    }


def test_devices_of_a_pool_with_missing_slices_cannot_be_had() -> None:
    part = resource_slice("n1", 2, count=2)
    assert shown(node("n1"), device_class(), part) == {
        ("gpu.example.com", "allocated"): 0,
        ("gpu.example.com", "free"): 0,
    }


def test_a_cluster_without_classes_has_no_series() -> None:
    assert shown(node("n1")) == {}
