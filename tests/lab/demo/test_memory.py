"""The demo of shares with memory: its policy at work on virtual time, what it adds up, and the demo itself."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from vsched.cli import cli
from vsched.lab.demo.memory import ALONE, EARLY, HALF_LIVES, LATE, Contest, policy_for
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod
from vsched.lab.trace.run import TraceReplay, replay
from vsched.together import run_fast

SECONDS, RUNS = 2400, 60


def test_who_had_nothing_gets_more_until_use_evens_out(tmp_path: Path) -> None:
    """The story of the demo on virtual time: each queue always asks for all four GPUs, from its beginning on."""
    policy = tmp_path / "memory.yaml"
    policy.write_text(policy_for(SECONDS), encoding="utf-8")
    pods = [
        TracePod(f"{crowd.queue}-{at}-{one}", 0, 0, 1, 1000, (), "", at, RUNS, queue=crowd.queue)
        for crowd in (EARLY, LATE)
        for at in range(int(crowd.begins * SECONDS), SECONDS, RUNS)
        for one in range(4)
    ]
    pods.sort(key=lambda pod: (pod.created, pod.name))
    trace = ClusterTrace((TraceNode("n", 8000, 1000, 4),), tuple(pods))

    async def run() -> TraceReplay:
        return await replay(trace, policy, {"early": 1, "late": 1}, 1, lambda progress: None)

    books = run_fast(run()).accounts
    begin = ALONE * SECONDS
    one_half_life = SECONDS / HALF_LIVES
    lines = books.shares.lines([0.0, begin, begin + one_half_life / 2, SECONDS - one_half_life, SECONDS])
    early, late = lines["early"]["used"], lines["late"]["used"]
    assert (early[0], late[0]) == (1.0, 0.0)
    assert late[1] > 2 * early[1], "more at first"
    assert late[3] == pytest.approx(early[3], abs=0.1), "the same in the end"


def test_what_queues_hold_while_all_ask_is_averaged_over_time() -> None:
    contest = Contest((EARLY, LATE))
    assert contest.parts(100) == {}
    contest.count({"early": 20.0, "late": 80.0}, 3.0)
    contest.count({"early": 60.0, "late": 40.0}, 1.0)
    assert contest.parts(100) == {"early": pytest.approx(0.3), "late": pytest.approx(0.7)}


def test_the_demo_shows_what_was_used() -> None:
    demo = CliRunner().invoke(cli, ["demo", "--nodes", "5", "--memory", "--headless", "--seconds", "4"])
    assert demo.exit_code == 0, demo.output
    document = orjson.loads(demo.stdout)
    assert set(document["queues"]) == {"early", "late"}
    assert all(0.0 <= queue["used_lately"] <= 1.0 for queue in document["queues"].values())
