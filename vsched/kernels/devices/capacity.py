"""Consumable capacity: what one allocation takes of a device that several claims may use, by the device's policy."""

from __future__ import annotations

from bisect import bisect_left

from vsched.model.claims.devices import CapacityPolicy, Device, DeviceModel, Quantities

ENDLESS = 1 << 15
"""How often a device may be allocated that has no capacity."""


def consumption(device: Device, requested: Quantities) -> Quantities | None:
    """What an allocation takes of each capacity of the device; None if the device cannot serve the request.

    Without a request for a capacity the policy's default is taken, or all of it. A request is rounded up to what the
    policy allows.
    """
    driver = device.model.driver
    wanted = {_full(name, driver): amount for name, amount in requested}
    policies = {_full(name, driver): policy for name, policy in device.traits.policies}
    taken = []
    for name, most in device.model.capacity:
        full = _full(name, driver)
        amount = _rounded(wanted.pop(full, None), most, policies.get(full))
        if amount is None or amount > most:
            return None
        taken.append((name, amount))
    return None if wanted else tuple(taken)


def as_published(device: Device, taken: Quantities) -> Quantities:
    """Amounts under the names that the device's driver publishes; a name may have the driver as its domain or none."""
    driver = device.model.driver
    amounts = {_full(name, driver): amount for name, amount in taken}
    return tuple(
        (name, amount) for name, _ in device.model.capacity if (amount := amounts.get(_full(name, driver))) is not None
    )


def times(model: DeviceModel, used: Quantities, taken: Quantities) -> int:
    """How often ``taken`` fits into what ``used`` leaves of the device's capacity."""
    held = dict(used)
    most = ENDLESS
    for (name, capacity), (_, amount) in zip(model.capacity, taken, strict=True):
        if amount > 0:
            most = min(most, max(0, capacity - held.get(name, 0)) // amount)
    return most


def _full(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _rounded(wanted: int | None, most: int, policy: CapacityPolicy | None) -> int | None:
    if wanted is None:
        return most if policy is None or policy.default is None else policy.default
    if policy is None:
        return wanted
    if policy.values:
        at = bisect_left(policy.values, wanted)
        return policy.values[at] if at < len(policy.values) else None
    if policy.least is None:
        return wanted
    amount = max(wanted, policy.least)
    if policy.step:
        amount = policy.least + -((policy.least - amount) // policy.step) * policy.step
    return None if policy.most is not None and amount > policy.most else amount
