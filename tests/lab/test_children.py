"""Child processes: an end with a reason, and a cluster that is gone after its block."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from vsched.errors import Unavailable
from vsched.lab.children import child, cluster_child, scratch
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
