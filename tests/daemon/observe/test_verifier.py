"""Sessions of a running daemon that are checked against the rules."""

from __future__ import annotations

import asyncio
from importlib import import_module

import pytest
from structlog.testing import capture_logs

from tests.support.asking import ask, fetched
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from tests.support.running import gang, node, nodes_of
from tests.support.serving import serving
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.app import Daemon
from vsched.daemon.observe.recordings import Recorder
from vsched.daemon.observe.settings import ObserveSettings, VerifierSettings
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.observe.verifier import Verifier
from vsched.daemon.words import log as words
from vsched.framework.cycle import run_cycle
from vsched.model.dump.cycle import decode
from vsched.proof.verify import verify
from vsched.settings.built_in import REGISTRY
from vsched.settings.proving import facts_of
from vsched.sim.cluster import Cluster
from vsched.web.pages.recording import Whose, policy_of

pytestmark = pytest.mark.real_time

OFTEN = ObserveSettings(verifying=VerifierSettings(look_seconds=0.02, part=0.5))
WAITS = "work: nothing that fits waits"


def counted(telemetry: Telemetry, name: str, **labels: str) -> float:
    return telemetry.registry.get_sample_value(f"vsched_verify_{name}_total", labels) or 0.0


def checked(daemon: Daemon, result: str) -> float:
    return counted(daemon.telemetry, "sessions", result=result)


async def test_sessions_that_keep_the_rules_are_counted() -> None:
    options = {"verify": 1.0, "period_seconds": 0.05}
    async with (
        Cluster([node("n1"), node("n2")]) as cluster,
        serving(cluster.url, observing=OFTEN, **options) as (daemon, url),
    ):
        cluster.apply(gang("g", 3))
        await until(lambda: len(nodes_of(cluster, "g-")) == 3)
        await until(lambda: checked(daemon, "kept") >= 3)
        assert checked(daemon, "violated") == 0
        assert (await ask(f"{url}/recordings")).body == {"recordings": []}


async def test_a_violation_is_counted_told_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("vsched.actions.allocate"), "JobTurns", lambda *_: ())  # nobody gets a turn
    options = {"verify": 1.0, "period_seconds": 0.05}
    with capture_logs() as logs:
        async with (
            Cluster([node("n1")]) as cluster,
            serving(cluster.url, observing=OFTEN, **options) as (daemon, url),
        ):
            cluster.apply(gang("g", 2))
            await until(lambda: counted(daemon.telemetry, "violations", rule=WAITS) >= 1)
            await until(lambda: any(line["event"] == "session recorded" for line in logs))
            [found] = (await ask(f"{url}/recordings")).body["recordings"]
            recording = decode(await fetched(f"{url}/recordings/{found['number']}"))

    assert (found["why"], found["says"].startswith(f"{WAITS}: default/g waits")) == ("violation", True)
    told = next(line for line in logs if line["event"] == words.VIOLATED)
    assert (told["log_level"], told["rule"], told["violations"]) == ("warning", WAITS, 1)
    assert recording.report is not None
    again = verify(recording.snapshot, facts_of(policy_of(recording, REGISTRY)), recording.report)
    assert [one.rule for one in again if one.violations] == [WAITS]


# -- one session at a time, by hand


class Bench:
    """A verifier of sessions that are run by hand."""

    def __init__(self, share: float, settings: VerifierSettings) -> None:
        self._cache = mirror(manifests("node n1 cpu=4\njob ns/a min=1 pods=3 cpu=1 phase=Inqueue"))
        self.telemetry, self.snapshots = Telemetry(FakeClock()), SnapshotService(lambda: None)
        recorder = Recorder(1, self.snapshots, Whose(), FakeClock(), self.telemetry)
        self.verifier = Verifier(share, self.snapshots, recorder, self.telemetry, settings)

    def results(self) -> dict[str, int]:
        """How many sessions were checked, by result."""
        names = ("kept", "violated", "given up")
        counts = {name: int(counted(self.telemetry, "sessions", result=name)) for name in names}
        return {name: count for name, count in counts.items() if count}

    async def session(self) -> None:
        """One session."""
        snapshot = self._cache.snapshot(NOW)
        asked = self.snapshots.begin()
        report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
        await self.snapshots.end(asked, snapshot, DEFAULT_POLICY, report)


@pytest.mark.parametrize(
    ("share", "sessions"),
    [
        pytest.param(1.0, (1, 2), id="all of them, one after the other"),
        pytest.param(0.25, (4, 8), id="every fourth"),
    ],
)
async def test_a_share_of_the_sessions_is_checked(share: float, sessions: tuple[int, int]) -> None:
    bench = Bench(share, VerifierSettings(look_seconds=0.0, part=1.0))
    task = asyncio.create_task(bench.verifier.run())
    checked = []
    for number in range(1, sessions[-1] + 1):
        await asyncio.sleep(0.01)
        due = bench.snapshots.waiting
        await bench.session()
        if due:
            checked.append(number)
            await until(lambda: sum(bench.results().values()) == len(checked))
    task.cancel()

    assert (tuple(checked), bench.results()) == (sessions, {"kept": 2})


async def test_a_check_waits_while_a_session_is_under_way() -> None:
    bench = Bench(1.0, VerifierSettings(look_seconds=0.0, rest_seconds=30.0))
    task = asyncio.create_task(bench.verifier.run())
    await until(lambda: bench.snapshots.waiting)
    await bench.session()
    bench.snapshots.begin()
    await asyncio.sleep(0.05)
    before = bench.results()
    bench.snapshots.at_rest.set()
    await until(bench.results)
    task.cancel()

    assert before == {}


async def test_a_check_that_takes_too_long_is_given_up() -> None:
    bench = Bench(1.0, VerifierSettings(look_seconds=0.0, seconds_max=0.0))
    task = asyncio.create_task(bench.verifier.run())
    await until(lambda: bench.snapshots.waiting)
    await bench.session()
    await until(bench.results)
    task.cancel()

    assert bench.results() == {"given up": 1}
