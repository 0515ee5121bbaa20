"""DeviceTaintRules: taints that administrators give to devices, beside those of the drivers."""

from __future__ import annotations

from typing import NamedTuple

from vsched import api
from vsched.errors import BadObject
from vsched.mirror.ingest.devices import taint_of
from vsched.mirror.ingest.metadata import naming
from vsched.mirror.ingest.words import devices as words
from vsched.model.claims.devices import DeviceId, DeviceTaint


class TaintRule(NamedTuple):
    """A taint, and the devices that have it."""

    taint: DeviceTaint
    driver: str | None
    """None where it does not matter, like ``pool`` and ``device``."""
    pool: str | None
    device: str | None
    selects: bool = True
    """False where the rule has no selector: then no device has the taint."""

    @property
    def only_pool(self) -> tuple[str, str] | None:
        """Driver and pool where the rule names both; None where it can be about devices of several pools."""
        return None if self.driver is None or self.pool is None else (self.driver, self.pool)

    def concerns(self, driver: str, pool: str) -> bool:
        """Whether devices of a pool can have the taint."""
        return self.selects and self.driver in (None, driver) and self.pool in (None, pool)

    def taints(self, device: DeviceId) -> bool:
        """Whether a device has the taint."""
        return self.concerns(device.driver, device.pool) and self.device in (None, device.device)


def taint_rule_of(found: api.DeviceTaintRule) -> TaintRule:
    """What a DeviceTaintRule says. Raises BadObject."""
    spec, chosen = found.spec, found.spec.device_selector
    with naming("DeviceTaintRule", found.metadata):
        taint = taint_of(spec.taint, "spec.taint")
        if chosen is None:
            return TaintRule(taint, None, None, None, selects=False)
        for field, said in (("deviceClassName", chosen.device_class_name), ("selectors", chosen.selectors)):
            if said:
                raise BadObject(words.selector_not_supported(field))
        return TaintRule(taint, chosen.driver, chosen.pool, chosen.device)
