"""What a service manager hears: the protocol at a real socket, the words of a daemon, and a process as it would run."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.running import gang, node, nodes_of
from tests.support.small import SmallCluster
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.policy.reload import PolicyReading
from vsched.daemon.system.notify import Notifier, notifier
from vsched.daemon.system.status_line import status_line
from vsched.daemon.system.supervision import PATIENCE_SECONDS, RELOAD_SECONDS, STATUS_SECONDS, Supervision, Watched
from vsched.daemon.words import log as log_words
from vsched.daemon.words import states as states_words
from vsched.errors import BadInput
from vsched.sim.cluster import Cluster
from vsched.web.pages.health import HealthCheck

Facts = dict[str, str]


class Manager:
    """A service manager's end of the socket."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self.heard: list[Facts] = []

    def hear(self) -> list[Facts]:
        """What has come since the last time."""
        before = len(self.heard)
        while True:
            try:
                text = self.socket.recv(4096).decode()
            except BlockingIOError:
                return self.heard[before:]
            self.heard.append(dict(line.split("=", 1) for line in text.split("\n")))

    def has_heard(self, **facts: object) -> bool:
        """Whether one message so far had all of these."""
        self.hear()
        return any(facts.items() <= {**message}.items() for message in self.heard)

    def has_heard_after(self, message: Facts, name: str) -> bool:
        """Whether a message after that one had this."""
        self.hear()
        return any(name in later for later in self.heard[self.heard.index(message) + 1 :])

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with closing(Manager(str(tmp_path / "notify"))) as found:
        yield found


# -- the protocol


@pytest.mark.parametrize("kind", ["/", "@"], ids=["a socket in the file system", "a socket of the abstract kind"])
def test_facts_arrive_as_lines_of_one_datagram(kind: str, tmp_path: Path) -> None:
    address = str(tmp_path / "notify") if kind == "/" else f"@vsched-test-{os.getpid()}"
    with closing(Manager(address)) as manager:
        pod_events = notifier({"NOTIFY_SOCKET": address})
        assert pod_events.listens
        assert pod_events.tell(READY=1, STATUS="two\nlines  here") == ""
        assert manager.hear() == [{"READY": "1", "STATUS": "two lines here"}]


def test_without_a_service_manager_nothing_is_told() -> None:
    pod_events = notifier({})
    assert not pod_events.listens
    assert pod_events.watchdog_seconds == 0
    assert pod_events.tell(READY=1) == ""


def test_a_service_manager_that_is_gone_is_a_problem_and_no_error(tmp_path: Path) -> None:
    assert Notifier(str(tmp_path / "nobody")).tell(READY=1) == "No such file or directory"


def test_a_service_manager_that_does_not_read_is_not_waited_for(manager: Manager) -> None:
    pod_events = Notifier(manager.address)
    problems = {pod_events.tell(STATUS=number) for number in range(2_000)}
    assert problems == {"", "Resource temporarily unavailable"}


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        pytest.param({"WATCHDOG_USEC": "30000000"}, 30.0, id="a watchdog"),
        pytest.param({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0, id="one of this process"),
        pytest.param(
            {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getppid())}, 30.0, id="one of the half that unpacked"
        ),
        pytest.param({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, 0.0, id="one of another process"),
        pytest.param({"WATCHDOG_PID": str(os.getpid())}, 0.0, id="none"),
    ],
)
def test_how_often_a_sign_of_life_is_wanted(environment: Facts, seconds: float) -> None:
    assert os.getppid() != 1
    assert notifier(environment).watchdog_seconds == seconds


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        pytest.param({"NOTIFY_SOCKET": "run/notify"}, "NOTIFY_SOCKET: 'run/notify'", id="a relative path"),
        pytest.param({"WATCHDOG_USEC": "soon"}, "WATCHDOG_USEC: 'soon'", id="no number"),
    ],
)
def test_what_cannot_be_is_refused(environment: Facts, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        notifier(environment)


# -- what is told when


class Story:
    """A daemon that does as it is told, under a service manager."""

    def __init__(self, manager: Manager, watchdog_seconds: float = 30.0) -> None:
        self.manager, self.clock = manager, FakeClock()
        self.ready, self.alive, self.status, self.reading = False, True, "waits", object()
        self.worries: list[str] = []
        watched = Watched(lambda: self.ready, lambda: self.alive, lambda: self.status, lambda: self.reading)
        pod_events = Notifier(manager.address, watchdog_seconds)
        self.supervision = Supervision(pod_events, watched, self.clock, lambda event, **_: self.worries.append(event))

    def beat(self, seconds: float = 1.0) -> Facts:
        """What is told at the next beat, all together."""
        self.clock.advance(seconds)
        self.supervision.beat()
        return {name: value for message in self.manager.hear() for name, value in message.items()}


def test_it_asks_for_time_until_it_is_ready_and_says_so_once(manager: Manager) -> None:
    story = Story(manager)
    patience = {"EXTEND_TIMEOUT_USEC": str(int(PATIENCE_SECONDS * 1e6)), "WATCHDOG": "1"}
    assert story.beat() == {**patience, "STATUS": "waits"}
    assert story.beat() == patience
    story.ready, story.status = True, "leader: 1 nodes"
    assert story.beat() == {"READY": "1", "MAINPID": str(os.getpid()), "WATCHDOG": "1", "STATUS": "leader: 1 nodes"}
    assert story.beat() == {"WATCHDOG": "1"}
    story.ready = False
    assert story.beat() == {"WATCHDOG": "1"}


def test_a_stuck_daemon_gives_no_sign_of_life_and_asks_for_no_time(manager: Manager) -> None:
    story = Story(manager)
    story.alive = False
    assert story.beat() == {"STATUS": "waits"}
    story.alive = story.ready = True
    assert story.beat()["WATCHDOG"] == "1"
    story.alive = False
    assert story.beat() == {}


def test_signs_of_life_keep_their_pace_however_often_it_is_looked(manager: Manager) -> None:
    story = Story(manager, watchdog_seconds=4.0)
    signs = ["WATCHDOG" in story.beat(0.05) for _ in range(200)]  # ten seconds
    assert 10 <= sum(signs) <= 20


def test_no_signs_of_life_where_none_are_wanted(manager: Manager) -> None:
    story = Story(manager, watchdog_seconds=0.0)
    story.ready = True
    assert "WATCHDOG" not in story.beat()


def test_the_status_is_told_when_it_changes_and_not_at_every_beat(manager: Manager) -> None:
    story = Story(manager)
    story.ready = True
    story.beat()
    story.status = "leader: 2 nodes"
    assert "STATUS" not in story.beat(STATUS_SECONDS / 2)
    assert story.beat(STATUS_SECONDS / 2)["STATUS"] == "leader: 2 nodes"
    assert "STATUS" not in story.beat(STATUS_SECONDS)


def test_a_reload_is_over_once_the_policy_was_read(manager: Manager) -> None:
    story = Story(manager)
    story.ready = True
    story.beat()
    story.supervision.reloading()
    [told] = manager.hear()
    assert told == {"RELOADING": "1", "MONOTONIC_USEC": str(int(story.clock.monotonic() * 1e6))}
    assert "READY" not in story.beat(0.1)
    story.reading, story.status = object(), "leader; policy rejected"
    assert story.beat(0.1) == {"READY": "1", "STATUS": "leader; policy rejected"}
    assert "READY" not in story.beat()


def test_a_reload_of_which_nothing_comes_is_over_in_time(manager: Manager) -> None:
    story = Story(manager)
    story.ready = True
    story.beat()
    story.supervision.reloading()
    assert "READY" not in story.beat(RELOAD_SECONDS / 2)
    assert story.beat(RELOAD_SECONDS / 2)["READY"] == "1"


def test_before_it_is_ready_there_is_nothing_to_reload(manager: Manager) -> None:
    story = Story(manager)
    story.supervision.reloading()
    assert manager.hear() == []


def test_that_it_stops_is_told_once_and_it_is_alive_until_the_end(manager: Manager) -> None:
    story = Story(manager)
    story.ready = True
    story.beat()
    story.supervision.stopping()
    story.supervision.stopping()
    assert manager.hear() == [{"STOPPING": "1", "STATUS": "stopping"}]
    assert story.beat(STATUS_SECONDS) == {"WATCHDOG": "1"}


def test_a_service_manager_that_is_gone_is_worried_about_once(manager: Manager) -> None:
    story = Story(manager)
    manager.close()
    os.unlink(manager.address)
    story.supervision.beat()
    story.supervision.beat()
    assert story.worries == [log_words.CANNOT_NOTIFY]


# -- the status line

LISTED = {"role": "leader", "synced": {"Pod": True, "Command": False}, "absent": {"Command": "not found"}}
SIZES = {"nodes": 5_000, "tasks": 140_000}
FINE = PolicyReading(True, 0.0, 1)


def test_the_status_says_who_it_is_and_how_much_there_is() -> None:
    cluster = SmallCluster().node("n1")
    shape = cluster.shape(cpu=1000)
    job = cluster.job("g", 1, shape=shape)
    for number in range(3):
        cluster.task(job, f"waits-{number}", shape)
    waiting = sum(len(job.pending) for job in cluster.snapshot().jobs.values())
    assert waiting >= 3
    line = status_line(HealthCheck(True, LISTED), SIZES, cluster.snapshot(), FINE)
    assert line == f"leader: 5,000 nodes, 140,000 pods, {waiting} waiting"


def test_the_status_of_a_standby_says_nothing_of_sessions() -> None:
    assert status_line(HealthCheck(True, {**LISTED, "role": "standby"}), SIZES, None, FINE) == (
        "standby: 5,000 nodes, 140,000 pods"
    )


def test_the_status_names_what_is_waited_for_but_not_what_cannot_be_had() -> None:
    synced = {"Pod": False, "Node": True, "Command": False, **{f"Kind{number}": False for number in range(5)}}
    details = {"role": "standby", "synced": synced, "absent": {"Command": "not found"}}
    line = status_line(HealthCheck(False, details), SIZES, None, FINE)
    assert line == states_words.waiting_for_lists("Pod, Kind0, Kind1, Kind2 and 2 more")


def test_the_status_says_that_a_policy_was_refused() -> None:
    refused = PolicyReading(False, 0.0, 1, problems=("scheduler.yaml: actions, line 1: no such action", "and more"))
    line = status_line(HealthCheck(True, LISTED), SIZES, None, refused)
    assert line.endswith(states_words.policy_rejected("scheduler.yaml: actions, line 1: no such action"))


# -- a process

POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
"""


@pytest.mark.real_time
async def test_a_daemon_under_a_service_manager(manager: Manager, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    policy = tmp_path / "scheduler.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    flags = ("--kubeconfig", str(kubeconfig), "--scheduler-conf", str(policy))
    quiet = ("--listen-address", "", "--healthz-address", "")
    environment = {**os.environ, "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "2000000"}
    async with Cluster([node("n1")]) as cluster:
        cluster.write_kubeconfig(kubeconfig)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "vsched", "run", *flags, *quiet), stdout=DEVNULL, stderr=PIPE, env=environment
        )
        try:
            await until(lambda: manager.has_heard(READY="1", MAINPID=str(process.pid)))
            assert any("STATUS" in message for message in manager.heard)
            await until(lambda: manager.has_heard(WATCHDOG="1"))

            policy.write_text(POLICY.replace("backfill", "wander"), encoding="utf-8")
            before = int(time.monotonic() * 1e6)
            process.send_signal(signal.SIGHUP)
            await until(lambda: manager.has_heard(RELOADING="1"))
            reloading = next(message for message in manager.heard if "RELOADING" in message)
            assert int(reloading["MONOTONIC_USEC"]) >= before
            await until(lambda: manager.has_heard_after(reloading, "READY"))
            refused = [message["STATUS"] for message in manager.heard if "STATUS" in message][-1]
            assert "policy rejected" in refused
            assert "wander" in refused

            cluster.apply(gang("g", 2))
            await until(lambda: len(nodes_of(cluster, "g-")) == 2)
            process.send_signal(signal.SIGTERM)
            _, err = await asyncio.wait_for(process.communicate(), 60.0)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 0, err.decode()
    assert manager.has_heard(STOPPING="1")
