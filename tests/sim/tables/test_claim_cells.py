"""Volumes and devices as ``kubectl get`` shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support import devices, volumes
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.sim.tables.rendering import table

Obj = dict[str, Any]
POD = {"metadata": {"name": "p", "uid": "u"}}
CLAIM = devices.resource_claim()
ALLOCATED = devices.allocated(CLAIM, "n1", "gpu-0")
RESERVED = devices.allocated(CLAIM, "n1", "gpu-0", pods=[POD])


def cells(obj: Obj) -> list[Any]:
    kind = KindRegistry().of(obj["apiVersion"], obj["kind"])
    assert kind is not None
    shown = table(kind, [obj], "", datetime(2026, 1, 2, tzinfo=UTC))
    columns = [column["name"] for column in shown["columnDefinitions"] if not column["priority"]]
    row = dict(zip(columns, shown["rows"][0]["cells"], strict=False))
    return [value for name, value in row.items() if name not in ("Name", "Age")]


def deleted(obj: Obj) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(CLAIM, ["pending"], id="a claim that waits"),
        pytest.param(ALLOCATED, ["allocated"], id="a claim that is allocated to nobody"),
        pytest.param(RESERVED, ["allocated,reserved"], id="a claim in use"),
        pytest.param(deleted(RESERVED), ["deleted,allocated,reserved"], id="a deleted claim in use"),
        pytest.param(deleted(CLAIM), ["deleted"], id="a deleted claim"),
        pytest.param(devices.resource_slice(), ["n1", devices.DRIVER, "n1"], id="a slice"),
        pytest.param(
            volumes.csi_driver(counts_capacity=True),
            [True, False, True, "<unset>", False, "<none>"],
            id="a CSI driver",
        ),
        pytest.param(volumes.storage_capacity(size="5Gi"), [volumes.CLASS, "5Gi"], id="a storage capacity"),
    ],
)
def test_rows(obj: Obj, expected: list[Any]) -> None:
    assert cells(obj) == expected
