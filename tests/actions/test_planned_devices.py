"""Planned starts of jobs whose pods claim devices: what running work claims is free once it has ended."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.actions.device_plans import decided, held, own
from tests.support import devices as d
from tests.support.plans import Manifest, policy_from
from tests.support.start_plans import POLICY, hours, starts
from vsched.framework.codes import NoStart

EASY = policy_from(POLICY.format(args=""))
TWO = policy_from(POLICY.format(args="    arguments: {depth: 2}"))
NODES = "node n1 cpu=8\nnode n2 cpu=8\n"
SLICES = (d.resource_slice("n1", 2), d.resource_slice("n2", 2))
Uses = dict[str, str | Iterable[str]]
"""By pod: the claims that it names."""


def running(node: str, minutes: float | None) -> tuple[str, Uses, list[Manifest]]:
    """A job on a node with both of its devices: its lines, what its pods use, and the claims."""
    name = f"on-{node}".replace("-", "")
    ends = "" if minutes is None else f"started=0 {hours(minutes)}"
    text = f"job ns/{name} min=2 age=900\npods ns/{name} 2 cpu=1 on={node} {ends}\n"
    pods = [f"{name}.{number}" for number in range(2)]
    claims = [
        held(claim, node, f"gpu-{at}", by=[pod]) for at, (pod, claim) in enumerate(zip(pods, own(*pods), strict=True))
    ]
    return text, {pod: pod for pod in pods}, claims


@pytest.mark.parametrize(
    ("size", "ends", "expected"),
    [
        pytest.param(1, (20, 60), 20, id="one pod: as soon as one device is free"),
        pytest.param(2, (20, 60), 20, id="two pods: on the node that is free first"),
        pytest.param(3, (20, 60), 60, id="three pods: when the second node's devices are free, too"),
        pytest.param(3, (20, None), None, id="nobody knows when enough devices are free"),
        pytest.param(5, (20, 60), None, id="more than there are"),
    ],
)
def test_a_gang_short_of_devices_starts_when_work_that_has_them_has_ended(
    size: int, ends: tuple[float, float | None], expected: float | None
) -> None:
    found = [running(node, minutes) for node, minutes in zip(("n1", "n2"), ends, strict=True)]
    mine = [f"big.{number}" for number in range(size)]
    uses: Uses = {pod: pod for pod in mine}
    for _, used, _ in found:
        uses |= used
    text = "".join(part for part, _, _ in found)
    claims = [claim for _, _, some in found for claim in some]
    plan = decided(
        f"{NODES}{text}job ns/big min={size} pods={size} cpu=1 age=600\n",
        *SLICES,
        *claims,
        *own(*mine),
        uses=uses,
        policy=EASY,
    )
    at, _ = starts(plan, "ns/big") or (None, None)
    assert at == expected
    assert plan.jobs["ns/big"].unplanned == ("" if expected is not None else NoStart.DEVICES)
    assert not plan.bound


def test_the_next_planned_start_does_not_get_the_devices_of_the_first() -> None:
    found = [running("n1", 20), running("n2", 60)]
    uses: Uses = {pod: pod for _, used, _ in found for pod in used} | {
        name: name for name in ("big.0", "big.1", "next.0")
    }
    claims = [claim for _, _, some in found for claim in some]
    jobs = "job ns/big min=2 pods=2 cpu=1 age=600\njob ns/next min=1 pods=1 cpu=1 age=500\n"
    text = NODES + "".join(part for part, _, _ in found) + jobs
    plan = decided(text, *SLICES, *claims, *own("big.0", "big.1", "next.0"), uses=uses, policy=TWO)
    assert starts(plan, "ns/big") == (20, ("n1",))
    assert starts(plan, "ns/next") == (60, ("n2",))


@pytest.mark.parametrize(
    ("lasts", "bound"),
    [
        pytest.param(hours(20), True, id="it has ended by then"),
        pytest.param(hours(21), False, id="it would still have the device"),
    ],
)
def test_a_free_device_goes_to_work_that_gives_it_back_in_time(lasts: str, bound: bool) -> None:
    text, uses, claims = running("n1", 20)
    uses |= {name: name for name in ("big.0", "big.1", "big.2", "small.0")}
    jobs = f"job ns/big min=3 pods=3 cpu=1 age=600\njob ns/small min=1 pods=1 cpu=1 age=60 {lasts}\n"
    mine = own("big.0", "big.1", "big.2", "small.0")
    plan = decided(f"node n1 cpu=8\n{text}{jobs}", d.resource_slice("n1", 3), *claims, *mine, uses=uses, policy=EASY)
    assert starts(plan, "ns/big") == (20, ("n1",))
    assert (plan.bound == {"small": 1}) is bound


def test_devices_of_a_claim_for_a_pod_group_are_not_expected_back() -> None:
    text, uses, claims = running("n1", 20)
    for claim in claims:
        claim["status"]["reservedFor"] = [
            {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "onn1", "uid": "group"}
        ]
    plan = decided(
        f"node n1 cpu=8\n{text}job ns/big min=1 pods=1 cpu=1 age=600\n",
        d.resource_slice("n1", 2),
        *claims,
        *own("big.0"),
        uses=uses | {"big.0": "big.0"},
        policy=EASY,
    )
    assert starts(plan, "ns/big") is None
    assert plan.jobs["ns/big"].unplanned == NoStart.DEVICES
