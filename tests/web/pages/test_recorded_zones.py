"""Cycles on nodes with NUMA zones or shared devices, and of jobs with roles that share nodes: under made-up names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.deviceshare import IDS, asking, devices, part, pods, vgpu_node
from tests.support.plans import NOW, manifests, mirror
from tests.support.zones import DECISION, POLICY, report, volcano_report
from vsched.framework.cycle import run_cycle
from vsched.model.dump.cycle import Recording, decode, encode
from vsched.model.frozen import freeze
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.web.pages.recording import anonymous, policy_of, replay
from vsched.web.words.answers import DIFFERS

POLICIES = Path(__file__).parents[3] / "config" / "policies"
DECIDED = '{"numa":{"1":{"cpu":"2"}}}'
ZONES = f"""
node falcon-1 cpu=8
node falcon-2 cpu=8
node falcon-3 cpu=8
job acme/old
pods acme/old 1 cpu=2 memory=1Gi limits=cpu:2,memory:1Gi on=falcon-1 bound {DECISION}={DECIDED}
job acme/new min=2 pods=2 cpu=3 memory=1Gi limits=cpu:3,memory:1Gi {POLICY}=single-numa-node
job acme/late min=1 pods=1 cpu=4 memory=1Gi limits=cpu:4,memory:1Gi {POLICY}=single-numa-node
"""
REPORTS = [report("falcon-1", "3", "4"), volcano_report("falcon-2", "0-2", dict.fromkeys(range(4), 0), pods={})]
UUID = "volcano.sh/vgpu-use-gpuuuid"
ASKED = asking(vgpu_number=1, vgpu_memory=20000)
SHARED = [
    vgpu_node("falcon-1", devices(2)),
    vgpu_node("falcon-2", devices(1)),
    *pods("job acme/old\npods acme/old 1 on=falcon-1", ASKED, **{IDS: part(0, 20000, 0)}),
    *pods("job acme/new min=2 pods=2", ASKED),
    *pods("job acme/late min=1 pods=1", ASKED, **{UUID: "GPU-7"}),
]
SMALL = asking(vgpu_number=1, vgpu_memory=100)
WISHES = "volcano.sh/task-topology"
ROLES = f"""
node falcon-1 cpu=8
node falcon-2 cpu=8
job acme/train min=4 {WISHES}-affinity=server,worker {WISHES}-anti-affinity=server;worker
pods acme/train 2 cpu=1 role=server
pods acme/train 2 cpu=1 role=worker
"""


@pytest.mark.parametrize(
    ("text", "reports", "policy", "bound"),
    [
        pytest.param(ZONES, REPORTS, "numa.yaml", 2, id="zones"),
        pytest.param("", SHARED, "devices.yaml", 2, id="shared devices"),
        pytest.param(ROLES, [], "roles.yaml", 4, id="roles"),
    ],
)
def test_made_up_names_change_no_decision(text: str, reports: list[dict[str, object]], policy: str, bound: int) -> None:
    check(text, reports, (POLICIES / policy).read_text(encoding="utf-8"), bound)


RULES = """
actions: allocate
tiers:
- plugins:
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.GPUExclusiveRules: [{acme.example/kind: falcon-pod}]
      deviceshare.KnownGeometriesCMName: acme-gpus
"""
A100 = {"model": "NVIDIA-A100-SXM4-40GB", "memory": 40960, "mode": "mig"}
ALIKE = "labels=acme.example/kind:falcon-pod"


@pytest.mark.parametrize(
    ("objects", "bound"),
    [
        pytest.param(
            [vgpu_node("falcon-1", devices(2)), *pods(f"job acme/new\npods acme/new 3 {ALIKE}", SMALL)],
            2,
            id="pods that share no device",
        ),
        pytest.param(
            [
                vgpu_node("falcon-1", devices(1, **A100)),
                *pods("job acme/old\npods acme/old 1 on=falcon-1", SMALL, **{IDS: "GPU-0[group4-0],NVIDIA,100,0:"}),
                *pods("job acme/new\npods acme/new 1", SMALL),
            ],
            0,
            id="a GPU that is divided by MIG, and full",
        ),
        pytest.param(
            [
                vgpu_node("falcon-1", devices(1, **A100)),
                *pods("job acme/old\npods acme/old 1 on=falcon-1", SMALL, **{IDS: "GPU-0[group2-0],NVIDIA,100,0:"}),
                *pods("job acme/new\npods acme/new 5", SMALL),
            ],
            3,
            id="one with instances that are free",
        ),
    ],
)
def test_made_up_names_keep_pods_apart_and_instances_taken(objects: list[dict[str, object]], bound: int) -> None:
    check("", objects, RULES, bound)


def check(text: str, reports: list[dict[str, object]], written: str, bound: int) -> None:
    """Under made-up names the same pods are bound, and no name is left."""
    snapshot = freeze(mirror([*manifests(text), *reports]).snapshot(NOW))
    recording = Recording(
        snapshot, written, run_cycle(snapshot, load_text(written, "policy", REGISTRY).policy, REGISTRY)
    )
    assert recording.report is not None
    assert len(recording.report.binds) == bound

    found = anonymous(recording, REGISTRY)
    data = encode(found)
    assert found.head.says != DIFFERS
    assert not [word for word in (b"acme", b"falcon", b"server", b"GPU-") if word in data]
    again = decode(data)
    assert replay(again, policy_of(again, REGISTRY), REGISTRY).report == found.report
