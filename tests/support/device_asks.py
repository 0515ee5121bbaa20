"""What claims ask for of devices, in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vsched.kernels.devices.matching import DeviceMatch
from vsched.kernels.devices.search import Ask, ClaimAsk
from vsched.model.claims.devices import DeviceConstraint, DeviceSelector

ANY = DeviceMatch(())


def want(*expressions: str, **fields: Any) -> DeviceMatch:
    return DeviceMatch(tuple(map(DeviceSelector, expressions)), **fields)


def of_model(name: str, **fields: Any) -> DeviceMatch:
    return want(f"device.attributes['gpu'].model == '{name}'", **fields)


def claim(*requests: Ask | Sequence[Ask], constraints: Sequence[DeviceConstraint] = ()) -> ClaimAsk:
    return ClaimAsk(tuple((one,) if isinstance(one, Ask) else tuple(one) for one in requests), tuple(constraints))


MODEL = "has(device.attributes['gpu'].model)"
A, H = (want(f"{MODEL} && device.attributes['gpu'].model == '{name}'") for name in "ah")
