"""``vsched dump``: from a running daemon to a file, and what is said where that does not work."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.running import gang, node, nodes_of
from tests.support.serving import serving
from tests.support.waiting import until
from vsched.cli import cli, main
from vsched.cli import words as cli_words
from vsched.model.dump.cycle import decode
from vsched.sim.cluster import Cluster
from vsched.web.pages.recording_ring import StoredRecording


def read(name: str) -> bytes:
    """A file in the working directory."""
    return Path(name).read_bytes()


async def dump(*words: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, cli, ["dump", *words])


async def test_files_lists_and_pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with Cluster([node("n1"), node("n2")]) as cluster, serving(cluster.url) as (daemon, url):
        cluster.apply(gang("g", 3))
        await until(lambda: len(nodes_of(cluster, "g-")) == 3)
        asked = ("--daemon", url)
        done = await dump(*asked, "-O", "mine.gz")
        assert done.exit_code == 0, done.output
        assert done.stdout == ""
        first, second, third = done.stderr.splitlines()
        assert first.startswith("mine.gz: ")
        assert "2 nodes, " in second
        assert "bindings" in third
        mine = read("mine.gz")
        recording = decode(mine)

        # Without -O it is named by its number, and writes over nothing.
        done = await dump(*asked)
        named = done.stderr.partition(":")[0]
        assert named == f"vsched-{decode(read(named)).head.number}.json.gz"

        done = await dump(*asked, "--anonymous", "-O", "-")
        made = decode(done.stdout_bytes)
        assert made.head.anonymous
        assert "default/g" not in made.snapshot.jobs

        done = await dump(*asked, "--list")
        assert done.stdout == "nothing looked wrong\n"
        daemon.inspection.recorder.ring.put(StoredRecording(recording.head, mine))
        number = recording.head.number
        done = await dump(*asked, "--list", "-o", "json")
        assert [one["number"] for one in json.loads(done.stdout)["recordings"]] == [number]
        done = await dump(*asked, "--list")
        assert done.stdout.splitlines()[1].split()[0] == str(number)
        done = await dump(*asked, "--recording", str(number), "-O", "again.gz")
        assert read("again.gz") == mine
        done = await dump(*asked, "--recording", str(number))
        done = await dump(*asked, "--recording", str(number))
        assert done.exit_code == 1
        assert "exists already (-O " in str(done.exception)
        done = await dump(*asked, "--recording", "77777")
        assert str(done.exception).startswith("there is no recording 77777")
        done = await dump(*asked, "-O", "no/such/folder")
        assert str(done.exception) == "no/such/folder: No such file or directory"


async def test_a_list_is_no_file() -> None:
    for flags in (["-O", "x"], ["--anonymous"], ["--recording", "1"]):
        done = await dump("--daemon", "127.0.0.1:1", "--list", *flags)
        assert done.exit_code == 2
        assert "nothing is written" in done.output


async def test_nobody_there_is_one_line() -> None:
    done = await dump("--daemon", "127.0.0.1:1")
    assert done.exit_code == 1
    assert "nobody listens there" in str(done.exception)


def test_a_disk_that_is_full_is_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    full = Path("/dev/full").open("w")  # noqa: SIM115 - what is left in it cannot be written when it is closed
    monkeypatch.setattr("sys.stdout", full)
    monkeypatch.setattr("sys.argv", ["vsched", "rbac"])
    with pytest.raises(SystemExit) as left:
        main()
    monkeypatch.undo()
    with suppress(OSError):
        full.close()
    assert left.value.code == 1
    assert capfd.readouterr().err == cli_words.no_room("No space left on device") + "\n"
