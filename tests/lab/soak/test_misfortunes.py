"""Each kind of fault in a bottle happens, breaks no promise, and ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from tests.support.examples import seeds
from vsched.cli import cli
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.faults import (
    BottleFaults,
    ClusterFault,
    ClusterFaultKind,
    ExtenderFault,
    ExtenderFaultKind,
    ProcessFault,
    ProcessFaultKind,
    WebhookFault,
    WebhookFaultKind,
)
from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.sim.api.fault_plan import FaultKind, FaultRule

EVERY, LASTS = 5.0, 4.0
SOON = 180.0
"""Within so many seconds after the last fault all work runs, where nothing else goes wrong."""


def bottle_of(faults: BottleFaults, **more: Any) -> Bottle:
    usual = BottleSettings(seed=5, seconds=20.0, nodes=2, daemons=2, faults=faults)
    return Bottle(msgspec.structs.replace(usual, **more))


def told(bottle: Bottle, kind: str) -> list[str]:
    return [line.what for line in bottle.lines if line.what.startswith(f"{kind} ")]


def test_faults_of_daemons() -> None:
    rules = tuple(ProcessFault(fault=kind, every_seconds=EVERY, lasts_seconds=LASTS) for kind in ProcessFaultKind)
    bottle = bottle_of(BottleFaults(processes=rules), seconds=30.0)
    assert bottle.run()["told"] == {}
    assert [kind for kind in ProcessFaultKind if not told(bottle, kind)] == []


def test_faults_of_the_cluster() -> None:
    rules = tuple(
        ClusterFault(fault=kind, every_seconds=3 * EVERY, lasts_seconds=LASTS, back_seconds=5.0)
        for kind in ClusterFaultKind
    )
    bottle = bottle_of(BottleFaults(cluster=rules), seconds=60.0, nodes=4)
    found = bottle.run()
    assert found["told"] == {}
    assert found["bound"] > 12
    assert [kind for kind in ClusterFaultKind if not told(bottle, kind)] == []


ASKED_FOR = [kind for kind in FaultKind if kind is not FaultKind.LIST_STALE]


def test_requests_that_fail() -> None:
    rules = tuple(FaultRule(fault=kind, percent=10 if kind.startswith("watch") else 3) for kind in ASKED_FOR)
    bottle = bottle_of(BottleFaults(rules=rules), seconds=40.0)
    assert bottle.run()["told"] == {}
    assert [tally for tally in bottle.injector.tallies() if not tally.hits] == []


def test_daemons_ask_for_no_list_that_may_be_out_of_date() -> None:
    bottle = bottle_of(BottleFaults(rules=(FaultRule(fault=FaultKind.LIST_STALE, percent=100),)))
    assert bottle.run()["told"] == {}
    assert bottle.injector.tallies()[0].requests == 0


# -- what they do

WRITES = {"POST", "PUT", "PATCH", "DELETE"}


@pytest.mark.parametrize(
    ("faults", "stopped"),
    [
        pytest.param(
            BottleFaults(processes=(ProcessFault(fault=ProcessFaultKind.NO_READS, every_seconds=3.0),)),
            lambda methods: methods == {"GET"},
            id="no reads",
        ),
        pytest.param(
            BottleFaults(processes=(ProcessFault(fault=ProcessFaultKind.NO_WRITES, every_seconds=3.0),)),
            lambda methods: methods and methods <= WRITES,
            id="no writes",
        ),
        pytest.param(
            BottleFaults(cluster=(ClusterFault(fault=ClusterFaultKind.REFUSE_NODE, every_seconds=3.0),)),
            lambda methods: methods == {"POST"},
            id="no bindings to a node",
        ),
    ],
)
def test_what_the_gate_lets_through(faults: BottleFaults, stopped: Callable[[set[str]], bool]) -> None:
    bottle = bottle_of(faults)
    assert bottle.run()["told"] == {}
    assert bottle.misfortunes.gate is not None
    assert stopped(set(bottle.misfortunes.gate.stopped))


# -- services of others

TIERS = "priority gang conformance", "overcommit predicates proportion nodeorder"
ACTIONS = "enqueue, allocate, preempt, reclaim, backfill"
WEBHOOKS = tuple(WebhookFault(fault=kind, every_seconds=8.0, lasts_seconds=12.0) for kind in WebhookFaultKind)
VERBS = ["predicate", "prioritize", "preemptable", "reclaimable", "queueOverused", "jobEnqueueable", "jobReady"]
TOLD = ["onSessionOpen", "onSessionClose", "jobEnqueued", "allocateFunc", "deallocateFunc"]


@pytest.fixture
def asking(tmp_path: Path) -> Path:
    """A policy that asks an extender about everything, and takes nothing for granted while that does not answer."""
    arguments = {"extender.urlPrefix": "http://127.0.0.1:8888", "extender.httpTimeout": "200ms"}
    arguments |= {f"extender.{verb}Verb": verb for verb in (*VERBS, *TOLD)}
    first, second = ([{"name": name} for name in names.split()] for names in TIERS)
    tiers = [{"plugins": first}, {"plugins": [*second, {"name": "extender", "arguments": arguments}]}]
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump({"actions": ACTIONS, "tiers": tiers}), encoding="utf-8")
    return file


def test_all_heals_once_admission_webhooks_let_things_pass_again() -> None:
    """A webhook that refused a gang on all nodes for ten seconds once kept it in part for five minutes."""
    (seed,) = seeds(1, "webhooks in a bottle")
    bottle = bottle_of(BottleFaults(webhooks=WEBHOOKS), seconds=40.0, nodes=8, seed=seed)
    assert bottle.run()["told"] == {}
    assert sum(bool(told(bottle, f"webhook-{kind}")) for kind in WebhookFaultKind) > 1
    assert bottle.loop.time() < 40.0 + SOON


def test_what_admission_webhooks_change_is_scheduled_as_it_is_then() -> None:
    rule = WebhookFault(fault=WebhookFaultKind.CHANGES, every_seconds=2.0, lasts_seconds=9.0, percent=100.0)
    bottle = bottle_of(BottleFaults(webhooks=(rule,)), trace=True)
    assert bottle.run()["told"] == {}
    bound = [line.what for line in bottle.lines if line.who == "server to daemon-1" and '"name":"sidecar"' in line.what]
    assert any('"nodeName":' in what for what in bound)


def test_all_heals_once_the_extender_answers_again(asking: Path) -> None:
    """Seed 8: pods were evicted on a node with room that the extender had refused, as it agreed a moment later."""
    rules = tuple(ExtenderFault(fault=kind, every_seconds=5.0, lasts_seconds=15.0) for kind in ExtenderFaultKind)
    faults = BottleFaults(extender=rules)
    bottle = bottle_of(faults, seed=8, seconds=20.0, nodes=3, pods_per_minute=150.0, policy=asking)
    found = bottle.run()
    assert found["told"] == {}
    assert found["bound"] > 20
    assert bottle.misfortunes.extender.failed.keys() == set(ExtenderFaultKind)


def test_faults_of_an_extender_that_nobody_asks_are_refused(tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text("extender: [{fault: late, every_seconds: 5}]", encoding="utf-8")
    done = CliRunner().invoke(cli, ["soak", "--virtual", "--faults", str(faults)])
    assert (done.exit_code, str(done.exception)) == (1, words.NO_EXTENDER)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("webhooks: [{fault: late, every_seconds: 5}]", "webhooks[0].fault"),
        ("webhooks: [{fault: hangs, every_seconds: 5, timeout_seconds: 31}]", "webhooks[0].timeout_seconds"),
        ("webhooks: [{fault: hangs}]", "webhooks[0]"),
        ("extender: [{fault: wrong, every_seconds: 5, percent: 0}]", "extender[0].percent"),
        ("extender: [{fault: wrong, every_seconds: 5, resources: [pods]}]", "extender[0]"),
    ],
)
def test_faults_that_there_are_not_are_refused_with_their_place(tmp_path: Path, text: str, place: str) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["soak", "--virtual", "--faults", str(faults)])
    assert done.exit_code == 1
    assert f"{faults}: {place}: " in str(done.exception)


def test_a_leader_whose_lease_is_stolen_or_deleted_leaves_or_renews_it() -> None:
    steal = ClusterFault(fault=ClusterFaultKind.STEAL_LEASE, every_seconds=EVERY, lasts_seconds=LASTS)
    bottle = bottle_of(BottleFaults(cluster=(steal,)))
    assert bottle.run()["told"] == {}
    assert any("lease lost" in line.what for line in bottle.lines)


def test_all_that_a_server_was_told_since_the_backup_is_told_again() -> None:
    rule = ClusterFault(fault=ClusterFaultKind.RESTORE, every_seconds=10.0, lasts_seconds=1.0, back_seconds=10.0)
    bottle = bottle_of(BottleFaults(cluster=(rule,)), seconds=30.0)
    assert bottle.run()["told"] == {}
    assert any("was away for" in line.what for line in bottle.lines)


def test_tenants_write_much_that_is_let_in_and_some_that_is_not() -> None:
    rules = tuple(
        ClusterFault(fault=kind, every_seconds=every, lasts_seconds=20.0)
        for kind, every in ((ClusterFaultKind.TENANT, 0.3), (ClusterFaultKind.NAMESPACE_ENDS, 10.0))
    )
    bottle = bottle_of(BottleFaults(cluster=rules))
    assert bottle.run()["told"] == {}
    assert {what for line in told(bottle, "tenant") for what in line.split()[1:]} == {"make", "change", "delete"}
