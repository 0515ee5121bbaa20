"""Whole cycles of jobs with sub-groups, with known answers: what Volcano itself decides on the same objects and policy.

The files of ``tests/data/scenarios/sub-groups`` have the form of the other scenarios. Where nodes are equal to Volcano,
its answer varies; ``when_ties_go_to_first_name`` is the one with equal nodes settled by name.
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

FILES = sorted((Path(__file__).parent.parent / "data" / "scenarios" / "sub-groups").glob("*.yaml"))
BY_NAME = "of equal domains the first by name is taken; Volcano keeps no order among them"
DIFFERENT = {
    "sub-groups-01": (BY_NAME, {"c1/p1": "s0-n1", "c1/p2": "s0-n2"}),
    "sub-groups-05": (BY_NAME, {"c1/p1": "s0-n1", "c1/p2": "s0-n2"}),
}
"""By scenario: why vsched takes other nodes, and which."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_decides_as_volcano_does(path: Path) -> None:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings = load_text(yaml.safe_dump(case["policy"]), case["name"], REGISTRY)
    manifests = decode_manifests((Origin(case["name"], str(at)), found) for at, found in enumerate(case["objects"]))

    plan = make_plan(manifests, settings.policy, OUR_NAMES, cycles=1, now=0.0)

    cycle = plan["cycles"][0]
    found = {bind["pod"]: bind["node"] for bind in cycle["binds"]}
    assert len(found) == case["expect"]["binds_num"]
    theirs = case.get("when_ties_go_to_first_name", {"binds": {}})["binds"]
    ours = DIFFERENT[path.stem][1] if path.stem in DIFFERENT else theirs
    assert found == ours
    assert set(ours) == set(theirs), "the difference is about nodes alone"
    assert not cycle["evictions"]
    assert not cycle["nominations"]
    phases = case["after_close"]["phases"]
    assert phases == {job: plan["jobs"][job]["phase"] for job in phases}
