"""A cycle that was written down decides the same again, byte for byte; what is no recording is refused in one line."""

from __future__ import annotations

import gzip
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters, contended
from tests.support.plans import DEFAULT_POLICY, manifests, mirror
from tests.support.recording import POLICIES, policy_at, recorded, snapshot_of
from vsched.errors import BadInput
from vsched.framework.cycle import run_cycle
from vsched.model.dump import FORMAT, Call, Head, Recording, decode, encode, pack, report_bytes
from vsched.model.dump_tables import PIECE
from vsched.model.plan import CycleReport, Unschedulable
from vsched.model.snapshot import Snapshot
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

USED = "usage n1 cpu=63 memory=40 spread=12 age=10\nusage n2 cpu=20 age=400"
RULED = """
node n1 cpu=8 memory=16Gi zone=a gpu=2
node n2 cpu=8 memory=16Gi zone=b taint=gpu:yes
queue a weight=3 capability=cpu:6 guarantee=cpu:1
queue b parent=a deserved=cpu:2 required=g1 antiPreferred=g2
class high 1000
weight x 3
quota x/small requests.cpu=8 limits.memory=1Gi used=requests.cpu:3
pdb x/guard selector=job:old allowed=1 disrupted=old.0
job x/old min=2 pods=2 cpu=1 queue=a phase=Running on=n1 apart=train port=80 labels=app:web
job x/train min=3 pods=4 cpu=2 queue=a class=high selector=zone:a tolerates=gpu limits=cpu:2,memory:1Gi age=60
job x/stuck min=1 pods=1 cpu=1 queue=nowhere
job y/big min=1 pods=1 cpu=99 queue=b roles=ps:1 minResources=cpu:3
pods y/leaves 1 cpu=1 on=n2 leaving started=60
pods y/kept 1 cpu=1 nominated=n2 gated
"""


def again(recording: Recording) -> CycleReport:
    """What is decided on what is read back."""
    read = decode(encode(recording))
    policy = load_text(read.policy, "recording", REGISTRY).policy
    assert report_bytes(msgspec.structs.replace(read.report or CycleReport())) == report_bytes(
        recording.report or CycleReport()
    )
    return run_cycle(read.snapshot, policy, REGISTRY)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.one_of(clusters(), contended()), path=st.sampled_from(POLICIES), used=st.booleans())
def test_a_cycle_that_was_written_down_decides_the_same_again(text: str, path: Path, used: bool) -> None:
    recording = recorded(f"{text}\n{USED if used else ''}", policy_at(path))
    assert recording.report is not None
    assert report_bytes(again(recording)) == report_bytes(recording.report)
