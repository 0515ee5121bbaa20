"""Child processes: an end with a reason, and a cluster that is gone after its block."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import orjson
import pytest

from vsched.errors import Unavailable
from vsched.lab.children import child, cluster_child, free_port, scratch
from vsched.lab.sender import Sender


class TestChildren:
    async def test_one_that_cannot_start_is_told_in_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(Unavailable, match=r"^the cluster ended with exit code 1: .*no-such-fleet") as caught:
            async with child("cluster", ("cluster", "--nodes", "no-such-fleet.yaml"), tmp_path / "log") as started:
                await started.ended()
        assert "\n" not in str(caught.value)

    async def test_a_cluster_answers_while_the_block_runs_and_is_gone_after_it(self) -> None:
        async with scratch() as directory:
            async with (
                cluster_child(2, directory) as cluster,
                Sender(cluster.connection.server) as sender,
            ):
                assert len(orjson.loads(await sender.send("GET", "/api/v1/nodes"))["items"]) == 2
            assert cluster.child.process.returncode == 0
        assert not directory.exists()


def test_a_free_port_is_kept_from_all_but_the_server_that_it_is_for() -> None:
    port = free_port()
    with socket.socket() as chance, pytest.raises(OSError, match="in use"):
        chance.bind(("127.0.0.1", port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as reached:
        assert reached.getpeername() == ("127.0.0.1", port)


def test_only_so_many_ports_are_kept() -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc/self/fd on this machine")
    before = len(os.listdir("/proc/self/fd"))
    assert len({free_port() for _ in range(400)}) > 128
    assert len(os.listdir("/proc/self/fd")) <= before + 128


PROGRAM = """
import asyncio, sys
import asyncio
import os
import signal
import sys
from pathlib import Path
from vsched.lab.children import child
from vsched.together import run_fast

async def main() -> None:
    async with child("cluster", ("cluster", "--nodes", "1", "--port", "0"), Path(sys.argv[1])) as started:
        print(started.process.pid, flush=True)
        await asyncio.sleep(600)

run_fast(main())
"""


async def test_children_end_with_a_program_that_is_told_to_end(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(tmp_path / "log"), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    child_id = int(await process.stdout.readline())
    process.terminate()
    assert await process.wait() == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(child_id, 0)
