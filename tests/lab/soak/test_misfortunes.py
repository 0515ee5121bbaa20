"""Each kind of fault in a bottle happens, breaks no promise, and ends."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from vsched.lab.soak.bottle.faults import (
    BottleFaults,
    ClusterFault,
    ClusterFaultKind,
    ProcessFault,
    ProcessFaultKind,
)
from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.sim.api.fault_plan import FaultKind, FaultRule

EVERY, LASTS = 5.0, 4.0


def bottle_of(faults: BottleFaults, **more: float) -> Bottle:
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
