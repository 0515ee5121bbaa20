"""Arguments of plugins that could be changed: whatever a plugin proposes can be tried."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.support.plans import NOW, manifests, mirror, policy_from
from vsched.explain.edits.every import AnyEdit
from vsched.explain.edits.policy import SetArgument
from vsched.explain.explaining import explain
from vsched.explain.situation import Situation, apply_all
from vsched.explain.words import edits as words
from vsched.framework.cycle import run_cycle
from vsched.plugins.walltime import WallTimeArgs
from vsched.settings.built_in import REGISTRY

POLICIES = sorted((Path(__file__).parents[2] / "config/policies").glob("*.yaml"))
PER_USER = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: wall-time
    arguments: {maxWallTimePerUser: {"*": 12h, dr.who: 1h}}
"""


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in POLICIES])
def test_every_argument_that_a_plugin_proposes_can_be_set(path: Path) -> None:
    policy = policy_from(path.read_text())
    before = Situation(mirror([]).snapshot(NOW), policy)
    for conf in policy.plugins():
        for lever in REGISTRY.plugins[conf.name](conf.args).argument_levers():
            for step in (1, lever.most):
                edit = msgspec.convert(lever.edit(step), AnyEdit)
                assert apply_all(before, [edit]).policy != policy


@pytest.mark.parametrize("user", ["*", "dr.who"])
def test_one_entry_of_an_argument_with_several_is_set_and_the_others_stay(user: str) -> None:
    before = policy_from(PER_USER)
    policy = SetArgument("wall-time", f"maxWallTimePerUser.{user}", 7200.0).changed(before)
    conf = policy.plugin("wall-time")
    assert conf is not None
    assert isinstance(conf.args, WallTimeArgs)
    assert conf.args.per_user == {"*": 43_200.0, "dr.who": 3600.0, user: 7200.0}


def test_a_job_that_asks_for_longer_than_its_user_may_is_told_what_would_help() -> None:
    objects = manifests("node n1 cpu=4\njob ns/a min=1 pods=1 cpu=1 vsched.io/wall-time=14h vsched.io/user=ann")
    snapshot, policy = mirror(objects).snapshot(NOW), policy_from(PER_USER)
    found = explain(snapshot, policy, REGISTRY, run_cycle(snapshot, policy, REGISTRY), "ns", "a")
    assert found is not None
    helps = words.argument("maxWallTimePerUser.*", "51840s", "wall-time")
    assert helps in [change.message for change in found.changes]
