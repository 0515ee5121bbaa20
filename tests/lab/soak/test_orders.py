"""All orders of small scenes: the explorer finds each of them once, and in none of them anything goes wrong."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from tests.support.examples import seeds
from vsched.cli import cli
from vsched.daemon.app import Daemon
from vsched.errors import BadInput
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.exploring import explored, run_scene
from vsched.lab.soak.bottle.orders import (
    LATE,
    OVERTAKEN,
    Deviation,
    Order,
    OrderedLoop,
    as_text,
    explore,
    parsed,
    wander,
)
from vsched.lab.soak.bottle.processes import Process
from vsched.lab.soak.bottle.scene import SceneRun
from vsched.lab.soak.bottle.scenes import SCENES

GUIDE = Path("vsched/lab/README.md")
SAMPLE = 2
"""Orders of each scene in a run of the suite, others in each."""

# -- the explorer


class Counter(asyncio.Protocol):
    """A server that keeps a number: ``get`` answers it, anything else is the new one."""

    number = 0
    heard = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        who, what = data.decode().split()
        Counter.heard += f"{who}{what[0]}"
        if what == "get":
            self._transport.write(b"%d" % Counter.number)
        else:
            Counter.number = int(what.removeprefix("set"))


class Increment(asyncio.Protocol):
    """A client that reads the number, and writes the next one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(f"{self._name} get".encode())

    def data_received(self, data: bytes) -> None:
        self._transport.write(f"{self._name} set{int(data) + 1}".encode())


class Race:
    """Two clients that increment one number, in an order."""

    def __init__(self, order: Order = ()) -> None:
        self.loop = OrderedLoop(Random(1), order)
        Counter.number, Counter.heard = 0, ""
        self.loop.run_until_complete(self._main())
        self.loop.close()
        self.alternatives: Sequence[Deviation] = self.loop.alternatives
        self.trace = self.loop.trace
        self.number, self.heard = Counter.number, Counter.heard

    async def _main(self) -> None:
        server, *clients = (Process(name, self.loop, Random(1)) for name in ("server", "a", "b"))
        listening = await server.start(self.loop.create_server(Counter, "127.0.0.1", 0))
        address = listening.sockets[0].getsockname()
        self.loop.is_open = True
        for client in clients:
            await client.start(self.loop.create_connection(lambda name=client.name: Increment(name), *address))
        await asyncio.sleep(10.0)
        self.loop.finish()


@pytest.mark.parametrize(
    ("deviations", "heard"),
    [
        (0, {"agbgasbs"}),
        (1, {"agbgasbs", "bgagbsas", "bgbsagas", "agasbgbs", "agbgbsas"}),
        (2, {"agbgasbs", "bgagbsas", "bgbsagas", "agasbgbs", "agbgbsas", "bgagasbs"}),
        (9, {"agbgasbs", "bgagbsas", "bgbsagas", "agasbgbs", "agbgbsas", "bgagasbs"}),
    ],
)
def test_each_order_of_two_messages_from_each_of_two_clients_is_found_once(deviations: int, heard: set[str]) -> None:
    found = [done.heard for _, done in explore(Race, deviations)]

    assert sorted(found) == sorted(heard)


def test_a_lost_update_is_found_in_the_orders_in_which_it_happens() -> None:
    found = {done.heard: done.number for _, done in explore(Race, 9)}

    assert {heard for heard, number in found.items() if number == 2} == {"agasbgbs", "bgbsagas"}
    assert set(found.values()) == {1, 2}


def test_whoever_wanders_comes_by_orders_of_each_number_of_deviations() -> None:
    found = list(islice(wander(Race, 2, Random(3)), 40))

    assert {len(order) for order, _ in found} == {1, 2}
    assert {done.heard for _, done in found} > {"bgagasbs"}


def test_an_order_is_written_as_it_is_read() -> None:
    assert parsed("") == ()
    assert as_text(parsed("40:kill,17:late")) == "17:late,40:kill"
    for bad in ("7", "x:late", "7:", "7:late,"):
        with pytest.raises(BadInput):
            parsed(bad)


# -- scenes


def orders_told() -> dict[str, int]:
    """How many orders each scene has, as the guide says."""
    section = GUIDE.read_text(encoding="utf-8").partition("### All orders of small scenes")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (\d+) \|$", section, re.MULTILINE)
    return {scene: int(orders) for scene, orders in rows}


def test_the_guide_has_a_row_for_each_scene() -> None:
    assert list(orders_told()) == list(SCENES)


@pytest.mark.parametrize("scene", SCENES)
def test_nothing_goes_wrong_in_other_orders_and_in_the_usual_one_nobody_is_warned(scene: str) -> None:
    (seed,) = seeds(1, f"orders of {scene}")
    ran: dict[Order, SceneRun] = {}

    def run(order: Order) -> SceneRun:
        return ran.setdefault(order, run_scene(scene, order))

    for order, done in islice(wander(run, 3, Random(seed)), SAMPLE):
        assert done.violations.first == {}, words.order_command(scene, as_text(order))
    found = ran[()].alternatives
    assert 1 + len(found) == pytest.approx(orders_told()[scene], rel=0.1), "as the guide says"
    assert any(each.what == "kill" for each in found)
    assert any(each.what == "stop" for each in found) is (scene == "handover")
    usual = ran[()].to_dict()
    assert (usual["told"], usual["warnings"]) == ({}, {})


def test_equal_orders_give_equal_logs_and_a_killed_daemon_starts_again() -> None:
    kill = next(each for each in run_scene("claims").alternatives if each.what == "kill")

    first, second = (run_scene("claims", (kill,)) for _ in range(2))

    assert first.to_dict() == second.to_dict()
    assert [each.starts for each in first.casts] == [2]


def test_deviations_of_each_kind_are_found() -> None:
    found = run_scene("handover").alternatives

    assert {each.what for each in found} == {OVERTAKEN, LATE, "kill", "stop"}


def test_what_goes_wrong_is_told_with_the_first_order_in_which_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that evicts nobody leaves a pod waiting."""
    real = Daemon.__init__

    def lenient(self: Daemon, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        self.evictor.submitting = lambda evictions: iter(())  # type: ignore[method-assign]

    monkeypatch.setattr(Daemon, "__init__", lenient)
    monkeypatch.setattr("vsched.lab.soak.bottle.scene.LOOKS", 2)

    found = explored("budget", 0)

    assert (found.orders, found.violations) == (1, {words.NOT_AT_REST: 1})
    assert found.first[words.NOT_AT_REST][0] == ""
    assert words.waits("new-0") in found.first[words.NOT_AT_REST][1]


# -- the command


def test_the_command_explores_a_scene_and_runs_one_order(tmp_path: Path) -> None:
    trace = tmp_path / "trace.log"

    every = CliRunner().invoke(cli, ["soak", "--orders", "budget", "--deviations", "0"], catch_exceptions=False)
    one = CliRunner().invoke(
        cli,
        ["soak", "--orders", "budget", "--order", "3:late", "--trace", str(trace), "--json"],
        catch_exceptions=False,
    )

    assert every.exit_code == one.exit_code == 0, every.output + one.output
    assert " ".join(every.stdout.splitlines()[-1].split()).startswith("budget │ 0 │ 1 │")
    assert orjson.loads(one.stdout)["order"] == "3:late"
    assert "POST /api/v1/namespaces/default/pods/" in trace.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--orders budget --virtual", words.no_effect("--virtual", words.WITH_ORDERS)),
        ("--orders budget --order 3:late --deviations 2", words.no_effect("--deviations", words.WITH_ORDER)),
        ("--order 3:late", words.no_effect("--order", words.OTHERWISE)),
        ("--virtual --seeds 2 --shrink", words.no_effect("--shrink", words.WITH_SEEDS)),
        ("--virtual --keep logs", words.no_effect("--keep", words.WITH_VIRTUAL)),
        ("--hours 2", words.no_effect("--hours", words.OTHERWISE)),
        ("--orders all --order 3:late", words.ONE_SCENE),
        ("--orders budget --order 3", words.bad_order("3")),
    ],
)
def test_flags_that_do_not_go_together_are_refused(flags: str, message: str) -> None:
    done = CliRunner().invoke(cli, ["soak", *flags.split()])

    assert done.exit_code == 1
    assert message in str(done.exception) + done.output
