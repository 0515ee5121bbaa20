"""Jobs that ask for closeness: whole cycles with known answers, as Volcano decides on the same objects and policy.

Each file of ``tests/data/topology`` has objects, a policy and what is expected. Where domains are equal, Volcano takes
any of them; ``of_equals`` is one of its answers. ``OURS`` has those of vsched that differ, and why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from vsched.cli.plan.command import OUR_NAMES, make_plan
from vsched.mirror.wire.manifests import Origin, decode_manifests
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

FILES = sorted((Path(__file__).parent.parent / "data" / "topology").glob("*.yaml"))
FIRST = "of equal racks the first by name is taken"
CLOSEST = "a later pod goes to the closest domain around those that run: Volcano takes any rack with room"
OURS: dict[str, tuple[str, dict[str, str]]] = {
    "topology-05": (CLOSEST, {"c1/p3": "s4-n1"}),
    "topology-06": (FIRST, {"c1/p1": "s0-n1", "c1/p2": "s0-n2"}),
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_decides_as_volcano_does(path: Path) -> None:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings = load_text(yaml.safe_dump(case["policy"]), case["name"], REGISTRY)
    manifests = decode_manifests((Origin(case["name"], str(at)), found) for at, found in enumerate(case["objects"]))
    plan = make_plan(manifests, settings.policy, OUR_NAMES, cycles=1, now=0.0)
    expected, cycle = case["expect"], plan["cycles"][0]
    theirs = expected.get("binds", expected.get("of_equals", {}))
    _, ours = OURS.get(path.stem, ("", theirs))

    assert ours == {bind["pod"]: bind["node"] for bind in cycle["binds"]}
    assert len(ours) == expected["binds_num"]
    assert expected["evictions"] == [eviction["pod"] for eviction in cycle["evictions"]]
    assert expected["phases"] == {job: plan["jobs"][job]["phase"] for job in expected["phases"]}
    assert "binds" not in expected or path.stem not in OURS, "only where Volcano's answer varies"
