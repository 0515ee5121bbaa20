"""The flags that say which daemon is meant, and commands that ask one where there is one."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.support.answering import answering, content
from vsched.cli.allocations.source import division_of as shares_told
from vsched.cli.ask.cluster import ClusterFlags
from vsched.cli.ask.daemon import answer_if_any, daemon_flags, target_beside
from vsched.cli.job.source import jobs_of_daemon
from vsched.client.target import DEFAULT_DAEMON, DaemonTarget
from vsched.errors import BadInput, Unavailable


@click.command()
@daemon_flags
def needs(target: DaemonTarget) -> None:
    click.echo(repr(target))


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        pytest.param([], {}, DaemonTarget(DEFAULT_DAEMON, named=False), id="nobody says anything"),
        pytest.param(["--daemon", ":1"], {}, DaemonTarget(":1"), id="a flag"),
        pytest.param(["--daemon", ""], {}, DaemonTarget(DEFAULT_DAEMON, named=False), id="an empty address is as none"),
        pytest.param([], {"VSCHED_DAEMON": ":2"}, DaemonTarget(":2"), id="the environment"),
        pytest.param(["--daemon", ":1"], {"VSCHED_DAEMON": ":2"}, DaemonTarget(":1"), id="a flag before it"),
        pytest.param(
            ["--daemon-token-file", "t", "--daemon-server-name", "n"],
            {"VSCHED_DAEMON_CA_FILE": "ca"},
            DaemonTarget(DEFAULT_DAEMON, Path("t"), Path("ca"), server_name="n", named=False),
            id="who asks, and whom to trust",
        ),
    ],
)
def test_flags_make_a_target(arguments: list[str], environment: dict[str, str], expected: DaemonTarget) -> None:
    result = CliRunner().invoke(needs, arguments, env={"VSCHED_DAEMON": None, **environment})
    assert result.output == f"{expected!r}\n"


@pytest.mark.parametrize(
    ("named", "cluster", "asked"),
    [
        pytest.param(False, ClusterFlags(), True, id="nobody says anything"),
        pytest.param(False, ClusterFlags(context="other"), False, id="only a cluster is named"),
        pytest.param(True, ClusterFlags(context="other"), True, id="both are named"),
    ],
)
def test_the_daemon_beside_a_cluster(named: bool, cluster: ClusterFlags, asked: bool) -> None:
    target = DaemonTarget(":1", named=named)
    assert target_beside(cluster, target) == (target if asked else None)


async def test_a_daemon_that_nobody_named_may_be_missing() -> None:
    assert await answer_if_any(DaemonTarget("127.0.0.1:1", named=False), jobs_of_daemon) is None
    with pytest.raises(Unavailable, match="nobody listens there"):
        await answer_if_any(DaemonTarget("127.0.0.1:1"), jobs_of_daemon)


async def test_jobs_of_a_daemon_of_another_version() -> None:
    async with answering() as server:
        server.replies["/jobs"] = content({"ns/old": {"queue": "q", "phase": "Inqueue", "minMember": 2, "news": [1]}})
        found = await answer_if_any(DaemonTarget(server.url, named=False), jobs_of_daemon)
        assert found is not None
        old = found.lines[0]
        assert (old.key, old.min_member, old.ready, old.position, old.reason) == ("ns/old", 2, None, None, "")
        server.replies["/allocations"] = content({"namespaces": "none"})
        with pytest.raises(BadInput, match=f"^{server.url}: its answer cannot be read: must be an object, is a string"):
            await answer_if_any(DaemonTarget(server.url), shares_told)
