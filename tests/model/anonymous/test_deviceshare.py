"""Shared devices under pseudonyms: uuids and nodes are gone, models and amounts stay."""

from __future__ import annotations

import json

from tests.support.npus import allocated, npu_part
from vsched.model.anonymous.names import Pseudonyms, anonymised
from vsched.model.anonymous.rules import Renaming, bound

SAID = (
    ("hami.io/Ascend910B3-devices-to-allocate", npu_part(0, 16384) + ";"),
    (allocated(), npu_part(0, 16384) + ";"),
    ("huawei.com/Ascend910B3", '[{"UUID":"NPU-0","temp":"vir05_1c_16g"}]'),
    ("hami.io/vgpu-node", "acme-node"),
    ("hami.io/bind-phase", "allocating"),
)


def test_what_a_pod_is_told_of_its_npus() -> None:
    def under(names: Pseudonyms) -> dict[str, str]:
        return dict(bound(Renaming(names), SAID))

    found = anonymised(under)
    uuid = json.loads(found["huawei.com/Ascend910B3"])[0]["UUID"]
    assert found.keys() == dict(SAID).keys()
    assert "NPU-0" not in "".join(found.values())
    assert found[allocated()] == found["hami.io/Ascend910B3-devices-to-allocate"]
    assert found[allocated()] == f"{uuid},Ascend910B3,16384,0:;"
    assert json.loads(found["huawei.com/Ascend910B3"])[0]["temp"] == "vir05_1c_16g"
    assert "acme" not in found["hami.io/vgpu-node"]
    assert found["hami.io/bind-phase"] == "allocating"
