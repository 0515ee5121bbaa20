"""A cluster in a bottle: equal seeds give equal logs, nothing asks the machine, and what goes wrong is found."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import orjson
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.support.examples import seeds
from vsched.cli import cli
from vsched.daemon.app import Daemon
from vsched.lab.soak import words
from vsched.lab.soak.bottle import words as bottle_words
from vsched.lab.soak.bottle.faults import BottleFaults, ClusterFault, ClusterFaultKind
from vsched.lab.soak.bottle.loop import BottleLoop, NothingMore
from vsched.lab.soak.bottle.processes import EPOCH, Process
from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.lab.soak.bottle.shrinking import shrunk
from vsched.lab.soak.bottle.view import as_seeds_table, command_of
from vsched.sim.api.fault_plan import read_plan

FAULTS = read_plan(Path("config/bottle.yaml"), BottleFaults)
HALF_A_MINUTE = BottleSettings(seconds=30.0, daemons=2, faults=FAULTS)


def settings_of(seed: int, **more: Any) -> BottleSettings:
    return msgspec.structs.replace(HALF_A_MINUTE, seed=seed, **more)


# -- runs


def test_equal_seeds_give_equal_logs_in_any_process() -> None:
    (seed,) = seeds(1, "bottle")
    arguments = f"soak --virtual --seed {seed} --minutes 0.5 --daemons 3 --nodes 8 --pods-per-minute 60 --claims --ask"
    further = ("--faults", "config/bottle.yaml", "--json")
    command = [sys.executable, "-m", "vsched", *arguments.split(), *further]
    other = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, check=False)
    settings = settings_of(seed, daemons=3, claims=True, asked=True)

    found = Bottle(settings).run()

    assert found["digest"] == orjson.loads(other.stdout)["digest"]
    _nothing_broke(found, settings)


def _nothing_broke(found: dict[str, Any], settings: BottleSettings) -> None:
    assert found["told"] == {}, command_of(settings, Path("config/bottle.yaml"), found["first_at"])
    assert found["bound"] > 10


def _refusing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def refusing(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        assert not caller.startswith("vsched."), f"{caller} asks {name}"
        return real(*args, **kwargs)

    return refusing


@pytest.fixture
def no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks the machine for the time or for a random number, connects, or starts a thread."""
    for module, names in {
        time: ("time", "monotonic", "perf_counter", "thread_time", "sleep"),
        random: ("random", "uniform", "randint", "choice", "getrandbits"),
        secrets: ("token_bytes", "token_urlsafe", "token_hex"),
        uuid: ("uuid4",),
        os: ("urandom",),
    }.items():
        for name in names:
            monkeypatch.setattr(module, name, _refusing(f"{module.__name__}.{name}", getattr(module, name)))
    monkeypatch.setattr(socket.socket, "connect", None)
    monkeypatch.setattr(socket.socket, "listen", None)
    monkeypatch.setattr(threading.Thread, "start", None)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"daemons": 1, "asked": True}, id="one daemon that is asked"),
        pytest.param({"daemons": 2, "claims": True, "arbitrate": True}, id="two that arbitrate"),
    ],
)
@pytest.mark.usefixtures("no_machine")
def test_nothing_breaks_whatever_goes_wrong_and_nothing_asks_the_machine(more: dict[str, Any]) -> None:
    settings = settings_of(*seeds(1, f"faults in a bottle {more}"), **more)

    _nothing_broke(Bottle(settings).run(), settings)


def test_a_policy_that_takes_back_breaks_nothing() -> None:
    """Queues change their weights and capabilities, and there is more work than room."""
    (seed,) = seeds(1, "a policy in a bottle")
    edits = ClusterFault(fault=ClusterFaultKind.QUEUE_EDITED, every_seconds=5.0, lasts_seconds=10.0)
    settings = BottleSettings(
        seed=seed,
        seconds=20.0,
        nodes=4,
        pods_per_minute=300.0,
        policy=Path("config/policies/taking-back.yaml"),
        faults=BottleFaults(cluster=(edits,)),
    )
    assert Bottle(settings).run()["told"] == {}, f"vsched soak --virtual --seed {seed} --policy ..."


def test_nodes_come_for_pods_that_wait() -> None:
    settings = BottleSettings(seed=3, seconds=30.0, nodes=1, more_nodes=2, pods_per_minute=150.0, trace=True)
    bottle = Bottle(settings)
    assert bottle.run()["told"] == {}
    assert any('"ADDED"' in line.what and '"name":"more-0"' in line.what for line in bottle.lines)


def test_shards_share_the_work() -> None:
    found = Bottle(settings_of(5, shards=2, faults=BottleFaults())).run()

    assert found["told"] == {}
    assert found["bound"] > 20


def test_a_lost_binding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that forgets what it decided, every now and then, leaves pods without nodes."""
    real = Daemon.__init__

    def forgetful(self: Daemon, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        enqueue = self.dispatcher.enqueue
        count = iter(range(1 << 30))
        self.dispatcher.enqueue = lambda *each, **more: None if next(count) % 5 == 4 else enqueue(*each, **more)  # type: ignore[method-assign]

    monkeypatch.setattr(Daemon, "__init__", forgetful)

    monkeypatch.setattr("vsched.lab.soak.bottle.users.SETTLE_LOOKS", 2)

    assert Bottle(settings_of(1, seconds=20.0, faults=BottleFaults())).run()["violations"]


def test_an_answer_that_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr("vsched.web.pages.explanations.explain", failing)
    found = Bottle(settings_of(1, daemons=1, seconds=20.0, faults=BottleFaults(), asked=True)).run()
    assert words.ERROR_IN_LOG in found["told"]


def test_a_smaller_run_has_the_same_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon binds nobody, so that pods are never bound whatever else there is."""
    monkeypatch.setattr("vsched.lab.soak.bottle.users.SETTLE_LOOKS", 1)
    monkeypatch.setattr(Daemon, "run", lambda self: asyncio.sleep(1e6))

    found = shrunk(settings_of(1, seconds=8.0), words.UNBOUND)

    assert (found.daemons, found.nodes, found.faults.rules, found.faults.processes) == (1, 1, (), ())
    assert found.seconds < 8.0


# -- commands


def test_the_command_stops_at_a_moment_and_writes_down_what_was_sent(tmp_path: Path) -> None:
    trace = tmp_path / "trace.log"
    arguments = f"soak --virtual --seed 4 --minutes 1 --nodes 8 --pods-per-minute 60 --until 5s --trace {trace}"

    done = CliRunner().invoke(cli, arguments.split(), catch_exceptions=False)

    assert done.exit_code == 0, done.output
    assert "digest of the log" in done.output
    lines = trace.read_text(encoding="utf-8").splitlines()
    assert any(" daemon-1 info: cache synced" in line for line in lines)
    assert any("POST /api/v1/namespaces/soak-" in line for line in lines)
    assert max(float(line.split()[0]) for line in lines) <= 5.1


def test_many_seeds_are_run_side_by_side_each_as_it_would_be_alone() -> None:
    arguments = "soak --virtual --seeds 2 --seed 5 --minutes 0.1 --nodes 4 --pods-per-minute 60 --json"
    done = CliRunner().invoke(cli, arguments.split(), catch_exceptions=False)
    found = orjson.loads(done.stdout)
    assert [one["seed"] for one in found] == [5, 6]
    alone = Bottle(BottleSettings(seed=6, seconds=6.0, nodes=4)).run()
    assert found[1]["digest"] == alone["digest"] != found[0]["digest"]
    assert done.stderr.splitlines() == [bottle_words.seed_done(seed, 0) for seed in (5, 6)]


def test_of_many_seeds_the_first_that_breaks_a_promise_is_told_with_its_command() -> None:
    fine: dict[str, Any] = {"seconds": 60.0, "bound": 1, "starts": 1, "violations": {}, "told": {}, "first_at": None}
    broken = fine | {"violations": {words.UNBOUND: 1}, "told": {words.UNBOUND: ["soak-1/work-3"]}, "first_at": 31.5}
    results = [fine | {"seed": 1}, broken | {"seed": 2}, broken | {"seed": 3}]
    file = StringIO()
    Console(width=200, file=file).print(as_seeds_table(results, HALF_A_MINUTE, Path("config/bottle.yaml")))
    shown = file.getvalue()
    assert shown.count("soak-1/work-3") == 1
    assert "--seed 2 --minutes 0.5" in shown
    assert "--until 30.500s" in shown
    assert "--seed 3" not in shown


# -- loop, network, processes


def in_a_bottle(main: Callable[[BottleLoop], Any], seed: int = 1) -> Any:
    loop = BottleLoop(random.Random(seed))
    try:
        return loop.run_until_complete(main(loop))
    finally:
        loop.close()


class Kept(asyncio.Protocol):
    """Keeps what arrives."""

    def __init__(self) -> None:
        self.data, self.ended, self.lost = b"", False, "no"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data

    def eof_received(self) -> bool:
        self.ended = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = type(exc).__name__


async def connected(loop: BottleLoop) -> tuple[asyncio.Transport, Kept, Kept]:
    made: list[Kept] = []

    def server() -> Kept:
        made.append(Kept())
        return made[-1]

    listening = await loop.create_server(server, "127.0.0.1", 0)
    _, port = listening.sockets[0].getsockname()
    transport, client = await loop.create_connection(Kept, "127.0.0.1", port)
    await asyncio.sleep(0.01)
    return transport, client, made[0]


def test_what_is_sent_before_a_connection_is_accepted_is_there_afterwards() -> None:
    async def main(loop: BottleLoop) -> tuple[bytes, bytes]:
        (listening,) = await loop.listening_sockets("127.0.0.1", 0)
        transport, client = await loop.create_connection(Kept, *listening.getsockname())
        transport.write(b"early")
        await asyncio.sleep(0.01)
        found, _ = await loop.sock_accept(listening)
        _, server = await loop.connect_accepted_socket(Kept, found)
        await asyncio.sleep(0.01)
        server.transport.write(b"answer")
        await asyncio.sleep(0.01)
        return server.data, client.data

    assert in_a_bottle(main) == (b"early", b"answer")


def test_who_listens_no_more_refuses_connections() -> None:
    async def main(loop: BottleLoop) -> None:
        (listening,) = await loop.listening_sockets("127.0.0.1", 0)
        listening.close()
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Kept, *listening.getsockname())

    in_a_bottle(main)


def test_a_killed_process_that_is_cleaned_up_takes_no_address_from_its_successor() -> None:
    async def main(loop: BottleLoop) -> bool:
        async def listen() -> Any:
            (listening,) = await loop.listening_sockets("127.0.0.1", 8080)
            return listening

        killed, successor = (Process(name, loop, Random(1)) for name in ("killed", "successor"))
        old = await killed.start(listen())
        killed.kill()
        await successor.start(listen())
        old.close()
        transport, _ = await loop.create_connection(Kept, "127.0.0.1", 8080)
        return transport.is_closing()

    assert in_a_bottle(main) is False


def test_turns_in_which_nobody_waits_take_no_time() -> None:
    """Their number differs between versions of Python, and logs of equal seeds do not."""

    async def main(loop: BottleLoop) -> float:
        for _ in range(1_000):
            await asyncio.sleep(0)
        return loop.time()

    assert in_a_bottle(main) == 0.0


def test_tasks_of_a_group_end_in_an_order_that_does_not_follow_from_their_addresses() -> None:
    async def main(loop: BottleLoop) -> list[int]:
        ended: list[int] = []

        async def work(number: int) -> None:
            try:
                await loop.create_future()
            finally:
                ended.append(number)

        async def group_of(some: range) -> None:
            async with asyncio.TaskGroup() as group:
                others = [object() for _ in range(random.randrange(1_000))]
                for number in some:
                    group.create_task(work(number))
                    del others[::2]
                group.create_task(asyncio.sleep(1.0)).add_done_callback(lambda _: whole.cancel())

        whole = loop.create_task(group_of(range(20)))
        await asyncio.wait((whole,))
        return ended

    assert in_a_bottle(main) == list(range(20))


@pytest.mark.parametrize("now", [0.0, 0.1, 1e5 / 3, 1e9 / 3])
def test_who_waits_for_a_moment_wakes_up_after_it(now: float) -> None:
    async def main(loop: BottleLoop) -> int:
        await asyncio.sleep(now)
        until, turns = loop.time() + 0.1, 0
        while loop.time() < until:
            await asyncio.sleep(until - loop.time())
            turns += 1
        return turns

    assert in_a_bottle(main) == 1


@pytest.mark.parametrize("further", [(), (0.5, 3.0)])
def test_what_is_planned_for_one_moment_happens_in_the_order_in_which_it_was_planned(
    further: tuple[float, ...],
) -> None:
    """Whatever else is planned: a run that ends early goes as the whole run does until then."""

    async def main(loop: BottleLoop) -> list[int]:
        happened: list[int] = []
        for seconds in further:
            loop.call_later(seconds, int)
        for number in range(20):
            loop.call_at(1.0, happened.append, number)
        await asyncio.sleep(5.0)
        return happened

    assert in_a_bottle(main) == list(range(20))


def test_a_day_passes_at_once() -> None:
    async def main(loop: BottleLoop) -> float:
        await asyncio.sleep(86_400.0)
        return loop.time()

    assert in_a_bottle(main) == pytest.approx(86_400.0)


def test_who_waits_for_what_nobody_plans_is_told() -> None:
    async def main(loop: BottleLoop) -> None:
        await loop.create_future()

    with pytest.raises(NothingMore):
        in_a_bottle(main)


def test_what_is_sent_arrives_whole_in_order_and_then_the_end() -> None:
    async def main(loop: BottleLoop) -> Kept:
        transport, _, server = await connected(loop)
        for number in range(200):
            transport.write(b"%d " % number)
            await asyncio.sleep(0.0001 * (number % 3))
        transport.close()
        await asyncio.sleep(1.0)
        return server

    found = in_a_bottle(main)
    assert found.data == b"".join(b"%d " % number for number in range(200))
    assert (found.ended, found.lost) == (True, "NoneType")


def test_a_killed_process_cleans_nothing_up_and_its_connections_end() -> None:
    async def main(loop: BottleLoop) -> tuple[list[str], str]:
        process, said = Process("p", loop, random.Random(1)), list[str]()
        _, _, server = await connected(loop)

        async def work() -> None:
            try:
                await loop.create_connection(Kept, *server.transport.get_extra_info("sockname"))
                said.append("connected")
                await asyncio.sleep(5.0)
                said.append("goes on")
            finally:
                said.append("cleans up")

        task = process.start(work())
        await asyncio.sleep(1.0)
        process.kill()
        await asyncio.sleep(10.0)
        assert not task.done()
        told, said = said, []  # what Python cleans up later is not part of it
        return told, "alive" if process.alive else "dead"

    assert in_a_bottle(main) == (["connected"], "dead")


def test_a_process_that_pauses_goes_on_later() -> None:
    async def main(loop: BottleLoop) -> list[float]:
        process, when = Process("p", loop, random.Random(1)), list[float]()

        async def work() -> None:
            for _ in range(4):
                await asyncio.sleep(1.0)
                when.append(round(process.monotonic(), 2))

        task = process.start(work())
        await asyncio.sleep(1.5)
        process.pause(10.0)
        await asyncio.sleep(20.0)
        assert task.done()
        return when

    assert in_a_bottle(main) == [1.0, 11.5, 12.5, 13.5]


def test_who_is_cut_off_is_heard_once_joined_again() -> None:
    async def main(loop: BottleLoop) -> list[bytes]:
        one, two = Process("one", loop, random.Random(1)), Process("two", loop, random.Random(2))
        made = Kept()
        listening = await two.start(loop.create_server(lambda: made, "127.0.0.1", 0))
        address = listening.sockets[0].getsockname()
        transport, _ = await one.start(loop.create_connection(Kept, *address))
        loop.network.cut("one", "two")
        transport.write(b"hello")
        await asyncio.sleep(60.0)
        heard = [made.data]
        loop.network.join("one", "two")
        await asyncio.sleep(1.0)
        return [*heard, made.data]

    assert in_a_bottle(main) == [b"", b"hello"]


def test_what_a_killed_process_has_left_ends_unheard_and_its_ports_are_free_again() -> None:
    async def main(loop: BottleLoop) -> tuple[bool, bool, int]:
        process, made = Process("p", loop, random.Random(1)), Kept()
        listening = await loop.create_server(lambda: made, "127.0.0.1", 0)
        address = listening.sockets[0].getsockname()
        ports = len(loop.network._ports)

        async def work() -> None:
            transport, _ = await loop.create_connection(Kept, *address)
            try:
                await asyncio.sleep(1e6)
            finally:
                transport.write(b"farewell")
                await loop.create_connection(Kept, *address)

        task = process.start(work())
        await asyncio.sleep(1.0)
        process.kill()
        await process.bury()
        await asyncio.sleep(1.0)
        return task.done(), made.data == b"", ports - len(loop.network._ports)

    assert in_a_bottle(main) == (True, True, 0)


def test_the_clock_of_a_process_may_be_wrong() -> None:
    async def main(loop: BottleLoop) -> tuple[float, float]:
        process = Process("p", loop, random.Random(1))
        process.skew_seconds = -50.0
        return process.now() - EPOCH, process.monotonic()

    now, steady = in_a_bottle(main)
    assert now == pytest.approx(steady - 50.0)
