"""The soak: a short one as a person runs it, and whether it would notice broken promises."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from vsched.cli import cli
from vsched.errors import VschedError
from vsched.kube.deltas import Delta
from vsched.lab.outcomes import Gang, PodSeen
from vsched.lab.soak.daemons import SoakDaemon, complaint_of, until
from vsched.lab.soak.ledger import SoakOutcomes, Violations
from vsched.lab.soak.run import lease_of
from vsched.lab.soak.trend import ALLOWED, trend


def test_a_short_soak_with_a_kill_keeps_every_promise(tmp_path: Path) -> None:
    arguments = "soak --minutes 1 --nodes 20 --pods-per-minute 600 --kill-every 700ms --kills 1 --daemons 1 --json"
    faults = tmp_path / "faults.yaml"
    faults.write_text("rules: [{fault: slow, percent: 50, delay_ms: 1}]")
    further = ("--faults", str(faults), "--keep", str(tmp_path))
    done = CliRunner().invoke(cli, [*arguments.split(), *further], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    told = orjson.loads(done.stdout)
    assert told["violations"] == {}
    assert told["kills"] == 1
    assert told["kill_to_binding_seconds"]["max"] > 0
    assert told["created"] > 5
    assert (told["waiting"], told["partial_gangs"]) == (0, 0)
    assert told["bound"] > 5
    assert told["trends"]["rss_mb"]["peak"] > 20
    assert told["trends"]["series"]["peak"] > 50
    assert [line.split()[0] for line in told["faults"]] == ["fault", "slow"]
    assert not list(tmp_path.glob("daemon-*.log")), "logs without complaints are not found"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param("--kills 3", "--kills: nothing is killed", id="kills, but when"),
        pytest.param("--nodes 1", "expected --nodes 26 or more", id="no room for the work"),
        pytest.param("--faults /nowhere", "/nowhere: cannot be read: No such file", id="no such faults"),
        pytest.param("--kill-every soon", "'soon' is not a duration", id="no duration"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: str, message: str) -> None:
    done = CliRunner().invoke(cli, ["soak", *arguments.split()])
    said = str(done.exception) if isinstance(done.exception, VschedError) else done.output
    assert message in said
    assert done.exit_code != 0


# -- the record


def seen(name: str, node: str = "", phase: str = "Pending") -> PodSeen:
    from vsched.lab import outcomes as book

    return PodSeen(book._Metadata(name, "ns"), book._Spec(node), book._Status(phase))


def record(*works: Gang) -> SoakOutcomes:
    found = SoakOutcomes(8, Violations())
    for work in works:
        found.expect(work)
    return found


def gang(size: int, cpus: int = 4, name: str = "g") -> Gang:
    return Gang(f"ns/{name}", "q", tuple(f"ns/{name}-{index}" for index in range(size)), cpus)


def test_a_gang_from_its_creation_to_its_end() -> None:
    found = record(gang(2))
    assert found.never_bound() == ["ns/g-0", "ns/g-1"]
    found.apply(Delta.ADDED, seen("g-0"))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    assert (found.partial(), found.never_bound()) == (["ns/g"], ["ns/g-1"])
    found.apply(Delta.MODIFIED, seen("g-1", "n1"))
    assert (found.partial(), found.never_bound(), found.bound) == ([], [], 2)
    for name in ("g-0", "g-1"):
        found.apply(Delta.MODIFIED, seen(name, "n1", "Succeeded"))
    assert [work.key for work in found.done] == ["ns/g"]
    for name in ("g-0", "g-1"):
        found.apply(Delta.DELETED, seen(name, "n1", "Succeeded"))
    assert (found.present, found.finished, found.evicted, found.violations.counts) == (0, 2, 0, Counter())


def test_a_pod_on_another_node_than_before_was_bound_twice() -> None:
    found = record(gang(1))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    assert not found.violations.counts
    found.apply(Delta.MODIFIED, seen("g-0", "n2"))
    assert found.violations.first == {"bound twice": ["ns/g-0 was on n1 and is on n2"]}


def test_a_node_that_holds_more_than_it_has_is_noticed_and_one_that_was_left_in_time_is_not() -> None:
    found = record(gang(2), gang(1, name="h"))
    for name in ("g-0", "g-1"):
        found.apply(Delta.MODIFIED, seen(name, "n1"))
    found.apply(Delta.MODIFIED, seen("g-0", "n1", "Failed"))
    found.apply(Delta.MODIFIED, seen("h-0", "n1"))
    assert not found.violations.counts
    over = record(gang(3))
    for name in ("g-0", "g-1", "g-2"):
        over.apply(Delta.MODIFIED, seen(name, "n1"))
    assert over.violations.first == {"node over its size": ["n1 holds 12 of 8 cpus with ns/g-2"]}


def test_what_its_owner_takes_back_is_neither_lost_nor_partial_nor_evicted() -> None:
    work = gang(2)
    found = record(work)
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    work.cancelled = True
    assert (found.never_bound(), found.partial()) == ([], [])
    found.apply(Delta.DELETED, seen("g-0", "n1"))
    found.apply(Delta.DELETED, seen("g-1"))
    assert (found.evicted, found.present) == (0, 0)


def test_a_list_in_place_of_a_watch_tells_what_is_gone() -> None:
    found = record(gang(2))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    found.replace([seen("g-1", "n1")], "7")
    assert (found.bound, found.evicted, found.present) == (2, 1, 1)


def test_violations_are_all_counted_and_the_first_are_told() -> None:
    found = Violations()
    for number in range(80):
        found.add("bound twice", str(number))
    assert (found.counts["bound twice"], len(found.first["bound twice"])) == (80, 50)


# -- growth


@pytest.mark.parametrize("name", list(ALLOWED))
@pytest.mark.parametrize(
    ("per_sample", "noise", "grows"),
    [
        pytest.param(0.0, 0.02, False, id="flat but restless"),
        pytest.param(0.001, 0.005, True, id="it rises slowly and surely"),
        pytest.param(-0.001, 0.005, False, id="it falls"),
        pytest.param(0.00005, 0.0, False, id="it rises by next to nothing"),
    ],
)
def test_growth_is_told_from_noise(name: str, per_sample: float, noise: float, grows: bool) -> None:
    draw = random.Random(7)
    seconds = [number * 5.0 for number in range(240)]
    values = [1000.0 * (1 + per_sample * number + draw.gauss(0, noise)) for number in range(240)]
    found = trend(seconds, values, ALLOWED[name])
    assert (found.judged, found.grows) == (True, grows)


def test_a_figure_that_finds_its_height_at_the_beginning_does_not_grow() -> None:
    values = [min(100.0, 40.0 + number) for number in range(240)]
    assert not trend([number * 5.0 for number in range(240)], values, ALLOWED["rss_mb"]).grows


def test_too_few_measurements_are_not_judged() -> None:
    found = trend([0.0, 5.0, 10.0], [1.0, 100.0, 1000.0], ALLOWED["fds"])
    assert (found.judged, found.grows, found.peak) == (False, False, 1000.0)
    assert not trend([], [], ALLOWED["fds"]).judged


# -- daemons


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        pytest.param({"event": "session", "level": "info"}, "", id="a line of every day"),
        pytest.param({"event": "binding failed", "level": "warning"}, "", id="a warning"),
        pytest.param({"event": "session failed", "level": "error"}, "session failed", id="an error"),
        pytest.param({"event": "e", "level": "info", "exception": "Traceback\n  f\nValueError: x\n"}, "e ValueError: x",
                     id="an exception"),
        pytest.param({"event": "Task was destroyed but it is pending!"}, "Task was destroyed but it is pending!",
                     id="what Python says itself"),
        pytest.param({"event": "vsched: lease lost"}, "", id="the last word of the command"),
    ],
)  # fmt: skip
def test_which_lines_of_a_log_are_complaints(record: Mapping[str, Any], complaint: str) -> None:
    assert complaint_of(record) == complaint


async def test_a_daemon_that_ends_by_itself_is_told_with_its_last_words(tmp_path: Path) -> None:
    violations = Violations()
    daemon = SoakDaemon("d", ("nonsense",), tmp_path, violations, Counter())
    running = asyncio.create_task(daemon.run())
    assert await until(lambda: bool(violations.counts), 10.0)
    await daemon.close()
    await running
    assert violations.first["daemon died"][0].startswith("the scheduler d ended with exit code 2: ")
    assert "No such command 'nonsense'" in violations.first["daemon died"][0]


@pytest.mark.parametrize("seconds", [1, 2, 15, 3600])
def test_the_times_of_an_election_go_together(seconds: int) -> None:
    assert lease_of(seconds).duration_seconds == seconds
