"""All ways to serve the claims of a pod on a node, of those that are alike for others one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.device_asks import ANY, A, H, claim, of_model
from tests.support.devicesets import amounts, device, pool
from vsched.kernels.devices.books import DeviceBooks, Holding
from vsched.kernels.devices.inventory import inventory_of
from vsched.kernels.devices.matching import DeviceMatch
from vsched.kernels.devices.search import Ask, ClaimAsk
from vsched.kernels.devices.ways import device_ways
from vsched.model.claims.devices import DeviceConstraint, DevicePool
from vsched.model.nodes.table import NodeAttributes, NodeStatics

NODES = NodeStatics([NodeAttributes("n1", {})])
ONE = claim(Ask("r", ANY, 1))
MODELS = pool(
    *(device(f"{name}{number}", attributes={"model": name, "numa": number}) for name in "ah" for number in (0, 1))
)
PARTED = pool(
    *(
        device(f"{kind}{at}{number}", attributes={"model": kind}, consumes={f"c{at}": {"mem": share}})
        for at in range(3)
        for kind, share in (("whole", 2), ("half", 1))
        for number in range(2 // share)
    ),
    counters=tuple((f"c{at}", (("mem", 2),)) for at in range(3)),
)
SHARED = pool(*(device(f"s{number}", shareable=True, capacity=amounts(mem=8)) for number in range(3)))


def ways(
    asked: ClaimAsk,
    devices: DevicePool,
    *,
    beside: Sequence[ClaimAsk] = (),
    used: Sequence[str] = (),
    steps: int = 1000,
    most: int = 100,
) -> tuple[list[str], bool]:
    """The ways as the names of the devices, and whether there are no others; ``used`` devices are in use."""
    inventory = inventory_of((devices,), NODES)
    books = DeviceBooks(inventory)
    books.add(Holding(number) for number, one in enumerate(inventory.devices) if one.id.device in used)
    found = device_ways([asked], 0, inventory, books, later=False, steps=steps, most=most, beside=beside)
    names = [" ".join(inventory.devices[pick.device].id.device for mine in way for pick in mine) for way in found.found]
    return names, found.complete


@pytest.mark.parametrize(
    ("asked", "devices", "more", "expected"),
    [
        pytest.param(ONE, MODELS, {}, ["a0"], id="nobody tells the devices apart"),
        pytest.param(ONE, MODELS, {"beside": [claim(Ask("r", A, 1))]}, ["a0", "h0"], id="a claim beside it does"),
        pytest.param(
            claim(Ask("r", ANY, 2)),
            MODELS,
            {"beside": [claim(Ask("r", A, 1))]},
            ["a0 a1", "a0 h0", "h0 h1"],
            id="two of two models",
        ),
        pytest.param(
            ONE,
            MODELS,
            {"beside": [claim(Ask("r", ANY, 2), constraints=[DeviceConstraint("gpu/numa")])]},
            ["a0", "a1"],
            id="a constraint tells their attributes apart",
        ),
        pytest.param(claim([Ask("r/h", H, 1), Ask("r/a", A, 1)]), MODELS, {}, ["h0", "a0"], id="both alternatives"),
        pytest.param(
            claim([Ask("r/w", of_model("whole"), 1), Ask("r/h", of_model("half"), 1)]),
            PARTED,
            {},
            ["whole00", "half00"],
            id="whole or half, of devices that are parted alike",
        ),
        pytest.param(
            claim(Ask("r", of_model("half"), 1)),
            PARTED,
            {"used": ["half10"], "beside": [claim(Ask("r", of_model("whole"), 1))]},
            ["half00", "half11"],
            id="the half of a device that is in use leaves the others whole",
        ),
        pytest.param(
            claim(Ask("r", of_model("half"), 2)),
            PARTED,
            {},
            ["half00 half01", "half00 half10"],
            id="two halves of one device, or of two",
        ),
        pytest.param(ONE, SHARED, {}, ["s0"], id="devices that several may use, with equal room"),
        pytest.param(
            claim(
                Ask("r", DeviceMatch((), capacity=amounts(mem=3)), 1),
                Ask("s", DeviceMatch((), capacity=amounts(mem=2)), 1),
            ),
            SHARED,
            {},
            ["s0 s0", "s0 s1"],
            id="shares of one device, or of two",
        ),
        pytest.param(claim(Ask("r", A, 3)), MODELS, {}, [], id="there is no way"),
    ],
)
def test_which_ways_there_are(
    asked: ClaimAsk, devices: DevicePool, more: dict[str, object], expected: list[str]
) -> None:
    assert ways(asked, devices, **more) == (expected, True)


def test_what_is_left_out_is_said() -> None:
    beside = [claim(Ask("r", A, 1))]
    assert ways(ONE, MODELS, beside=beside, most=1) == (["a0"], False)
    assert ways(ONE, MODELS, beside=beside, steps=1) == (["a0"], False)
