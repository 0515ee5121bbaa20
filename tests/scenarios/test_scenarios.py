"""Whole cycles on whole clusters with known answers: what Volcano itself decides on the same objects and policy.

Each file of ``tests/data/scenarios`` has objects, a policy and what is expected. Namespace order is switched off, as
Volcano does not have it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from vsched.cli.plan import OUR_NAMES, make_plan
from vsched.cluster.manifests import Origin, decode_manifests
from vsched.model.resources import parse_amount
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

FILES = sorted((Path(__file__).parent.parent / "data" / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_decides_as_volcano_does(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    for tier in case["policy"]["tiers"]:
        for plugin in tier["plugins"]:
            if plugin["name"] == "drf":
                plugin["enableNamespaceOrder"] = False
    settings = load_text(yaml.safe_dump(case["policy"]), path.name, REGISTRY)
    manifests = decode_manifests((Origin(path.name, str(at)), found) for at, found in enumerate(case["objects"]))

    plan = make_plan(manifests, settings.policy, OUR_NAMES, cycles=1, now=0.0)

    expected, cycle = case["expect"], plan["cycles"][0]
    binds = {bind["pod"]: bind["node"] for bind in cycle["binds"]}
    if expected.get("binds_exact"):
        assert expected["binds"] == binds
    assert expected["binds_num"] == len(binds)
    assert expected["evictions"] == cycle["evictions"]
    for job, phase in expected.get("phases", {}).items():
        assert (job, phase) == (job, plan["jobs"][job]["phase"])
    check_queues(case.get("queues", {}), plan["queues"])


def check_queues(expected: dict[str, dict[str, Any]], queues: dict[str, dict[str, Any]]) -> None:
    for name, numbers in expected.items():
        if "share" not in numbers:
            continue
        assert numbers["share"] == pytest.approx(queues[name]["share"], abs=1e-4), name
        if "overused" in numbers:
            assert bool(numbers["overused"]) == queues[name]["overused"], name
        for kind in ("allocated", "deserved"):
            for resource, amount in numbers[kind].items():
                found = parse_amount(resource, queues[name][kind].get(resource, "0"))
                assert amount == pytest.approx(found, abs=1), (name, kind, resource)


def test_the_table_of_scenarios_covers_every_kind_there_is() -> None:
    kinds = Counter(path.stem.split("-")[0].split("_")[0] for path in FILES)

    assert set(kinds) >= {"allocate", "default", "nodeorder", "proportion"}
