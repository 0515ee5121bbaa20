"""Where the memo is proved: whoever promises what does not hold is named."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import pytest

from tests.support.backlogged import Backlogged, job
from tests.support.plans import policy_of
from vsched.framework.cycle import run_cycle
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobOrder, NoArgs, Plugin
from vsched.framework.policy import PluginConf, PluginTier, Policy
from vsched.framework.registry import Registry
from vsched.model.memo import Memo, Mode, Unequal
from vsched.plugins import PLUGINS
from vsched.settings.built_in import REGISTRY

POLICY = policy_of("priority gang", "predicates proportion")


class Turning(Plugin[NoArgs], JobOrder):
    """Puts jobs in another order in each session, although it says that it does not."""

    name = "turning"
    by_job_alone = True
    timeless = True
    backwards: ClassVar[bool] = False

    def job_key(self, job: JobView) -> tuple[int, ...]:
        return tuple(-ord(letter) if Turning.backwards else ord(letter) for letter in job.key)


KNOWN = Registry.of((*PLUGINS, Turning), REGISTRY.actions.values())


def with_turning(policy: Policy) -> Policy:
    last = PluginTier((PluginConf(Turning.name, NoArgs()),))
    return msgspec.structs.replace(policy, tiers=(*policy.tiers, last))


def waiting() -> Backlogged:
    """Jobs of one class, and room for one of them."""
    cluster = Backlogged(*(job(number, "gang") for number in range(5)))
    cluster.put("pods x/fill 1 cpu=5 on=n1")
    return cluster


def proved() -> tuple[Backlogged, Memo, Policy]:
    """A cluster after a cycle; in the next one the order is another one, and there is room for more."""
    cluster, memo, policy = waiting(), Memo(Mode.PROVE), with_turning(POLICY)
    Turning.backwards = False
    run_cycle(cluster.cache.snapshot(1.0), policy, KNOWN, memo=memo)
    Turning.backwards = True
    cluster.put("node n3 cpu=6")
    return cluster, memo, policy


def test_a_plugin_whose_order_is_another_one_in_each_session_is_named() -> None:
    cluster, memo, policy = proved()
    with pytest.raises(Unequal, match=r"these plugins promise: turning \(timeless, by_job_alone\)"):
        run_cycle(cluster.cache.snapshot(2.0), policy, KNOWN, memo=memo)


def test_after_a_difference_nothing_is_kept_of_that_cycle() -> None:
    cluster, memo, policy = proved()
    with pytest.raises(Unequal):
        run_cycle(cluster.cache.snapshot(2.0), policy, KNOWN, memo=memo)
    snapshot = cluster.cache.snapshot(3.0)
    assert run_cycle(snapshot, policy, KNOWN, memo=memo).binds == run_cycle(snapshot, policy, KNOWN).binds


def test_plugins_that_keep_their_promises_are_not_blamed() -> None:
    cluster, memo = waiting(), Memo(Mode.PROVE)
    for number in range(4):
        snapshot = cluster.cache.snapshot(float(number))
        cluster.cache.assumptions.assume(run_cycle(snapshot, POLICY, KNOWN, memo=memo))
        cluster.put(job(10 + number, "single"))
