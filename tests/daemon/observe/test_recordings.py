"""Cycles of a running daemon, asked for and kept: over real HTTP, and run again in a process of their own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.daemon.preempting import POLICY as PREEMPTING
from tests.daemon.preempting import QUICK_TO_GO, of_class, priority_class
from tests.support.answering import CERTIFICATES
from tests.support.asking import ask, fetched, trusting
from tests.support.extending import extending
from tests.support.fault_proxy import faulty
from tests.support.plans import policy_of as policy_with
from tests.support.questions import recording_of
from tests.support.running import gang, node, nodes_of
from tests.support.serving import serving
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.access_options import AccessOptions
from vsched.daemon.app import Daemon
from vsched.daemon.observe import recordings
from vsched.daemon.observe.recordings import Recorder
from vsched.daemon.observe.settings import ObserveSettings
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry, Timing
from vsched.daemon.triggers import Reason
from vsched.daemon.words import log as log_words
from vsched.daemon.words import states as states_words
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobOrder, NoArgs, Plugin, SessionContext
from vsched.framework.registry import Registry
from vsched.model.dump.cycle import Recording, decode, report_bytes
from vsched.plugins import PLUGINS
from vsched.settings import default_settings
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster
from vsched.web.pages.recording import Whose, policy_of, replay
from vsched.web.words import answers as words

TLS = {"tls_cert_file": CERTIFICATES / "server.pem", "tls_key_file": CERTIFICATES / "server.key"}


class Tripping(Plugin[NoArgs], JobOrder):
    """Dies of the job that is named so."""

    name = "tripping"

    def open(self, opening: SessionContext) -> None:
        for key in opening.jobs:
            if key.endswith("/stone"):
                raise LookupError(f"tripped over {key}")

    def job_key(self, job: JobView) -> int:
        return 0


PREEMPTED = """
node n1 cpu=2
class high 9
queue q
job default/low min=1 queue=q phase=Running
pods default/low 2 cpu=1 on=n1
job default/high min=1 pods=1 cpu=1 queue=q class=high
"""
STUMBLING = Registry.of((*PLUGINS, Tripping), REGISTRY.actions.values())


def kept(daemon: Daemon, why: str) -> float:
    """How many cycles were kept for this reason, by the metric."""
    return daemon.telemetry.registry.get_sample_value("vsched_recordings_total", {"reason": why}) or 0.0


def is_replayed(recording: Recording, registry: Registry = REGISTRY) -> bool:
    """Whether the same is decided once more."""
    assert recording.report is not None
    again = replay(recording, policy_of(recording, registry), registry)
    return report_bytes(again.report) == report_bytes(recording.report)


# -- asked for


async def test_a_dump_is_run_again_in_a_process_of_its_own(tmp_path: Path) -> None:
    async with Cluster([node("n1"), node("n2")]) as cluster, serving(cluster.url) as (_, url):
        cluster.apply([*gang("g", 3), *gang("secretive", 9)])
        await until(lambda: len(nodes_of(cluster, "g-")) == 3)
        plain, hidden = await fetched(f"{url}/dump"), await fetched(f"{url}/dump?anonymous=true")
    recording = decode(plain)
    assert recording.head.scheduler_names == ("vsched",)
    assert recording.head.number > 0
    assert {"default/g", "default/secretive"} <= recording.snapshot.jobs.keys()
    made = decode(hidden)
    assert made.head.anonymous
    assert not any("secretive" in key for key in made.snapshot.jobs)
    for name, data in (("plain", plain), ("hidden", hidden)):
        (tmp_path / name).write_bytes(data)
        command = [sys.executable, "-m", "vsched", "replay", str(tmp_path / name)]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "the same, byte for byte" in done.stdout


async def test_dumps_are_for_those_who_may_look(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("a-long-token-0123456789,operator,1\n")
    access = AccessOptions(authentication="token-file", token_file=tokens)
    async with Cluster([node("n1")]) as cluster, serving(cluster.url, access=access, **TLS) as (_, url):
        for path in ("/dump", "/dump?anonymous=true", "/recordings", "/recordings/1"):
            assert (await ask(url + path, tls=trusting())).status == 401
        assert decode(await fetched(f"{url}/dump", "a-long-token-0123456789")).snapshot.nodes.statics.names == ("n1",)


async def test_what_cannot_be_had_is_said_in_a_line() -> None:
    async with Cluster([node("n1")]) as cluster, serving(cluster.url) as (_, url):
        assert (await ask(f"{url}/recordings")).body == {"recordings": []}
        for number in ("7", "x", "9" * 30):
            answer = await ask(f"{url}/recordings/{number}")
            assert (answer.status, answer.body["error"].startswith("there is no recording")) == (404, True)
        answer = await ask(f"{url}/dump?anonymous=perhaps")
        assert (answer.status, answer.body["error"]) == (400, words.ANONYMOUS_EXPECTED)


async def test_what_an_extender_answered_is_in_the_dump_and_nobody_is_asked_again(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    with extending(predicate={"nodes": {"n1": {"errorMessage": "no licence"}}}) as server:
        policy.write_text(
            "actions: 'enqueue, allocate'\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: extender, "
            f"arguments: {{extender.urlPrefix: '{server.url}', extender.predicateVerb: predicate}}}}]}}]\n"
        )
        async with (
            Cluster([node("n1"), node("n2", cpu="1")]) as cluster,
            serving(cluster.url, policy_file=policy) as (_, url),
        ):
            cluster.apply(gang("g", 2))
            await until(lambda: server.requests)
            plain, hidden = await fetched(f"{url}/dump"), await fetched(f"{url}/dump?anonymous=true")
        asked = len(server.requests)
        recording, made = decode(plain), decode(hidden)
        assert recording.calls
        assert "no licence" in str(recording.report)
        assert is_replayed(recording)
        assert is_replayed(made)
        assert len(server.requests) == asked
    assert server.url not in made.policy
    assert "licence" not in str(made.report) + str(made.calls)


async def test_a_daemon_that_places_no_pods_has_no_cycle_to_give() -> None:
    async with Cluster([node("n1")]) as cluster, serving(cluster.url, schedule=False, arbitrate=True) as (_, url):
        answer = await ask(f"{url}/dump")
        assert (answer.status, "places no pods" in answer.body["error"]) == (404, True)


# -- kept


async def test_a_cycle_that_dies_is_kept_with_what_it_died_of(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("actions: allocate\ntiers: [{plugins: [{name: tripping}, {name: gang}]}]\n")
    async with Cluster([node("n1")]) as cluster, serving(cluster.url, STUMBLING, policy_file=policy) as (daemon, url):
        cluster.apply(gang("g", 1))
        await until(lambda: len(nodes_of(cluster, "g-")) == 1)
        assert (await ask(f"{url}/recordings")).body == {"recordings": []}
        with capture_logs() as lines:
            cluster.apply(gang("stone", 1))
            await until(lambda: len(daemon.inspection.recorder.ring) == 1)
            await until(lambda: any(line["event"] == "session recorded" for line in lines))
            [found] = (await ask(f"{url}/recordings")).body["recordings"]
            await until(lambda: next(iter(daemon.inspection.recorder.ring)).times > 1)
        recording = decode(await fetched(f"{url}/recordings/{found['number']}"))
        hidden = decode(await fetched(f"{url}/recordings/{found['number']}?anonymous=true"))
    assert found["why"] == "exception"
    assert found["error"].startswith("LookupError: 'tripped over default/stone'") or "tripped" in found["error"]
    assert "test_recordings.py:" in found["error"]
    [line] = [line for line in lines if line["event"] == "session recorded"]
    assert line["fetch"] == log_words.fetch(found["number"])
    assert kept(daemon, "exception") == 1
    assert recording.report is None
    with pytest.raises(LookupError, match="default/stone"):
        replay(recording, policy_of(recording, STUMBLING), STUMBLING)
    assert hidden.head.error == "LookupError"
    assert not any("stone" in key for key in hidden.snapshot.jobs)


async def test_evictions_in_vain_are_kept_with_the_session_that_decided_them(tmp_path: Path) -> None:
    soon = ObserveSettings(wasted_seconds=0.5, wasted_look_seconds=0.1)
    policy = tmp_path / "policy.yaml"
    policy.write_text(PREEMPTING)
    high = [priority_class("high", 9)]
    async with (
        Cluster([node("n1", cpu="2")], manifests=high, settings=QUICK_TO_GO) as cluster,
        faulty(cluster.url) as proxy,
        serving(proxy.url, observing=soon, policy_file=policy, period_seconds=0.1) as (daemon, url),
    ):
        cluster.apply(gang("low", 2, minimum=1))
        await until(lambda: len(nodes_of(cluster, "low-")) == 2)
        proxy.spoil("POST", r"/api/v1/namespaces/default/pods/urgent-\d+/binding", 403, times=1000)
        cluster.apply(of_class("high", gang("urgent", 1)))
        await until(lambda: kept(daemon, "useless-eviction"))
        listed = (await ask(f"{url}/recordings")).body["recordings"]
        [found] = [one for one in listed if one["why"] == "useless-eviction"]
        recording = decode(await fetched(f"{url}/recordings/{found['number']}"))
    assert found["says"] == states_words.left_for_nothing("n1", "default/urgent")
    assert recording.report is not None
    assert [(one.beneficiary, one.node) for one in recording.report.evictions] == [("default/urgent", "n1")]
    assert is_replayed(recording)


async def test_bindings_that_are_decided_again_and_again_are_kept() -> None:
    async with (
        Cluster([node("n1")]) as cluster,
        faulty(cluster.url) as proxy,
        serving(proxy.url, observing=ObserveSettings(binding_tries=2), period_seconds=0.1) as (daemon, _),
    ):
        proxy.spoil("POST", r"/api/v1/namespaces/default/pods/g-0/binding", 403, times=1000)
        cluster.apply(gang("g", 1))
        await until(lambda: kept(daemon, "no-progress"))
        [found] = daemon.inspection.recorder.ring
    assert found.head.says == states_words.not_bound("default", "g-0", 2)
    recording = decode(found.data)
    assert recording.report is not None
    assert [bind.name for bind in recording.report.binds] == ["g-0"]


async def test_nothing_is_held_once_whoever_others_were_evicted_for_has_its_place(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(PREEMPTING)
    high = [priority_class("high", 9)]
    async with (
        Cluster([node("n1", cpu="2")], manifests=high, settings=QUICK_TO_GO) as cluster,
        serving(cluster.url, policy_file=policy, period_seconds=0.2) as (daemon, _),
    ):
        recorder, most = daemon.inspection.recorder, 0
        cluster.apply(gang("low", 2, minimum=1))
        await until(lambda: len(nodes_of(cluster, "low-")) == 2)
        cluster.apply(of_class("high", gang("urgent", 1)))

        def placed() -> bool:
            nonlocal most
            most = max(most, recorder.held)
            return bool(nodes_of(cluster, "urgent-"))

        await until(placed)
        await until(lambda: recorder.held == 0)
    assert most == 1
    assert len(recorder.ring) == 0


async def test_with_none_to_keep_nothing_is_kept(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("actions: allocate\ntiers: [{plugins: [{name: tripping}, {name: gang}]}]\n")
    async with (
        Cluster([node("n1")]) as cluster,
        serving(cluster.url, STUMBLING, policy_file=policy, recordings=0) as (daemon, url),
    ):
        cluster.apply(gang("stone", 1))
        value = daemon.telemetry.registry.get_sample_value
        await until(lambda: value("vsched_cycle_exceptions_total"))
        assert (await ask(f"{url}/recordings")).body == {"recordings": []}
    assert kept(daemon, recordings.EXCEPTION) == 0


async def test_a_loop_that_is_told_before_its_session_is_held_is_kept_all_the_same() -> None:
    """The API server may grant an eviction while the session that decided it is still being handed over."""
    clock = FakeClock()
    policy = policy_with("priority gang", "predicates", actions="allocate, preempt")
    one = recording_of(PREEMPTED, policy=policy)
    assert one.report is not None
    [eviction] = one.report.evictions
    tasks = {uid: task for job in one.snapshot.jobs.values() for uid, task in job.tasks.items()}
    telemetry = Telemetry(clock, tasks.get)
    recorder = Recorder(2, SnapshotService(lambda: None), Whose(), clock, telemetry)
    packing = asyncio.create_task(recorder.run())
    recorder.looped(eviction.beneficiary, eviction.job)
    list(telemetry.telling(one.snapshot, one.report, Timing(Reason.CHANGE, 0.0, 0.0, 0.0)))
    await recorder.decided(one.snapshot, policy, one.report)
    await until(lambda: len(recorder.ring) or packing.done())
    packing.cancel()
    assert [kept.head.says for kept in recorder.ring] == [states_words.evict_each_other("default/high", "default/low")]


async def test_a_cycle_that_cannot_be_written_down_is_told_and_nothing_else_comes_of_it() -> None:
    clock = FakeClock()
    telemetry, snapshot = Telemetry(clock), recording_of("node n1 cpu=1").snapshot
    recorder = Recorder(2, SnapshotService(lambda: None), Whose(), clock, telemetry)
    policy = default_settings(REGISTRY).policy
    packing = asyncio.create_task(recorder.run())
    with capture_logs() as lines:
        # Half a character is no text that JSON could hold.
        await recorder.died(replace(snapshot, setbacks={"uid": "\ud800"}), policy, ValueError("one"))
        await until(lambda: lines)
        clock.advance(recordings.REST_SECONDS)
        await recorder.died(snapshot, policy, ValueError("another"))
        await until(lambda: len(recorder.ring) == 1 or packing.done())
    packing.cancel()
    assert [kept.head.says for kept in recorder.ring] == ["ValueError: another"]
    assert [line["event"] for line in lines] == [log_words.NOT_RECORDED, "session recorded"]
