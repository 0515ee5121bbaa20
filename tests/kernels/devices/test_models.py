"""Attributes and capacities of device models as arrays."""

from __future__ import annotations

import pytest

from vsched.kernels.devices.inventory import inventory_of
from vsched.kernels.devices.models import ATTRIBUTES, CAPACITY, values
from vsched.model.claims.devices import (
    Attribute,
    Device,
    DeviceId,
    DeviceModel,
    DevicePool,
    Quantities,
    Version,
    device_model,
)
from vsched.model.nodes.table import NodeAttributes, NodeStatics

NODES = NodeStatics([NodeAttributes("n1", {})])


def of(driver: str, capacity: Quantities = (), **attributes: Attribute | Version) -> DeviceModel:
    """A model; in names of attributes ``__`` stands for ``/``."""
    found = sorted((name.replace("__", "/"), value) for name, value in attributes.items())
    return device_model(driver, tuple(found), capacity)


def amount(name: str, value: int) -> Quantities:
    return ((name, value),)


def numbers(models: list[DeviceModel], where: str, name: str) -> list[int]:
    devices = tuple(Device(DeviceId("gpu", "n1", str(at)), model, "n1") for at, model in enumerate(models))
    inventory = inventory_of((DevicePool("gpu", "n1", 1, devices),), NODES)
    assert list(inventory.models) == models
    return values(inventory, where, name).tolist()


@pytest.mark.parametrize(
    ("models", "where", "name", "expected"),
    [
        pytest.param(
            [of("gpu", m="a"), of("gpu", m="b", x=1), of("gpu", id=3, m="a")],
            ATTRIBUTES,
            "gpu/m",
            [0, 1, 0],
            id="equal values have equal numbers, whatever else a model has",
        ),
        pytest.param(
            [of("gpu", m="a"), of("nic", m="a"), of("nic", gpu__m="a")],
            ATTRIBUTES,
            "gpu/m",
            [0, -1, 0],
            id="a name without a domain is the driver's",
        ),
        pytest.param(
            [of("gpu", m="b"), of("gpu", gpu__m="a", m="b")],
            ATTRIBUTES,
            "gpu/m",
            [0, 1],
            id="the full name goes before the short one",
        ),
        pytest.param(
            [of("gpu", m=True), of("gpu", m=1), of("gpu", m="1"), of("gpu", m=Version("1"))],
            ATTRIBUTES,
            "gpu/m",
            [0, 1, 2, 3],
            id="values of different types are different",
        ),
        pytest.param(
            [
                of("gpu", (("memory", 8),), m=1),
                of("gpu", (("memory", 8),), m=2),
                of("gpu", (("gpu/memory", 9),)),
                of("gpu"),
            ],
            CAPACITY,
            "gpu/memory",
            [0, 0, 1, -1],
            id="amounts of a capacity",
        ),
        pytest.param([of("gpu", memory=8)], CAPACITY, "gpu/memory", [-1], id="an attribute is no capacity"),
    ],
)
def test_values_by_model(models: list[DeviceModel], where: str, name: str, expected: list[int]) -> None:
    assert numbers(models, where, name) == expected
