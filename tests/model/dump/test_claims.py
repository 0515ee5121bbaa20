"""The catalogue of claims in recordings."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.support.catalogues import MODEL, catalogue
from tests.support.recording import snapshot_of
from vsched.model.dump.claims import ClaimParts, claim_catalogue, claim_parts
from vsched.model.dump.tables import Numbered, Parts, written


def test_models_of_devices_are_written_with_the_names_of_their_attributes() -> None:
    users = list(snapshot_of("node n1 cpu=9\njob x/old pods=1 phase=Running on=n1").jobs["x/old"].tasks.values())
    told = b"".join(written(Parts(claim_parts(catalogue(users), Numbered(task.uid for task in users)))))

    found: dict[str, Any] = msgspec.json.decode(told)
    [piece] = found["devices"]["models"]
    attributes = [
        ["gpu.acme.corp/driver", {"text": "1.2.3-acme"}],
        ["gpu.acme.corp/index", 3],
        ["gpu.acme.corp/mig", True],
        ["gpu.acme.corp/model", "acme-100"],
    ]
    assert {name: column["of"] for name, column in piece["columns"].items()} == {
        "driver": ["gpu.acme.corp"],
        "attributes": [attributes],
        "capacity": [[["gpu.acme.corp/memory", 80_000]]],
        "shareable": [True],
    }
    read = claim_catalogue(msgspec.json.decode(told, type=ClaimParts), users)
    assert {device.model for pool in read.devices.pools for device in pool.devices} == {MODEL}
