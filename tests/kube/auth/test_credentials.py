"""Tokens that rotate in files, and plugins that make them."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.kube.kubeconfigs import DATA, data64, kubeconfig, write
from vsched.clock import FakeClock
from vsched.errors import BadInput, Unavailable
from vsched.kube.auth.config import load_connection
from vsched.kube.auth.credentials import PluginCredentials, PluginLimits, TokenFile
from vsched.kube.words import auth as words


def authorization(headers: Any) -> str | None:
    return dict(headers).get("Authorization")


async def test_a_token_file_is_read_again_when_it_may_have_changed(tmp_path: Path) -> None:
    file, clock = write(tmp_path / "token", "one\n"), FakeClock()
    token = TokenFile(file, reread_seconds=10.0, clock=clock)
    write(file, "two")
    assert authorization(await token.headers()) == "Bearer one"
    clock.advance(10.0)
    assert authorization(await token.headers()) == "Bearer two"


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "token", "one")
    token = TokenFile(file, clock=FakeClock())
    assert not await token.refresh(await token.headers())
    refused = await token.headers()
    write(file, "two")
    assert await token.refresh(refused)
    assert authorization(await token.headers()) == "Bearer two"
    assert await token.refresh(refused)


@pytest.mark.parametrize("gone", [True, False], ids=["it is gone", "it is empty"])
async def test_a_token_file_in_the_middle_of_a_rotation_leaves_the_old_token(tmp_path: Path, gone: bool) -> None:
    file, clock = write(tmp_path / "token", "one"), FakeClock()
    token = TokenFile(file, clock=clock)
    if gone:
        file.unlink()
    else:
        write(file, "")
    clock.advance(60.0)
    assert authorization(await token.headers()) == "Bearer one"


def test_a_token_file_has_to_be_good_at_first(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is empty, expected a bearer token"):
        TokenFile(write(tmp_path / "token", "\n"))


PLUGIN = """
import json, pathlib, sys
runs = pathlib.Path(__file__).with_name("runs")
number = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(number))
given = json.loads(pathlib.Path(__file__).with_name("status.json").read_text())
if "fail" in given:
    sys.exit(given["fail"])
if "token" in given:
    given["token"] += str(number)
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": given}))
"""


class Plugin:
    """An exec plugin on disk, and a kubeconfig that runs it."""

    def __init__(self, folder: Path, **status: Any) -> None:
        self.folder = folder
        write(folder / "plugin.py", PLUGIN)
        self.says(**status)

    def says(self, **status: Any) -> None:
        write(self.folder / "status.json", json.dumps(status))

    @property
    def runs(self) -> int:
        file = self.folder / "runs"
        return int(file.read_text()) if file.exists() else 0

    def user(self) -> dict[str, Any]:
        return {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": sys.executable,
                "args": [str(self.folder / "plugin.py")],
            }
        }

    def credentials(self, clock: FakeClock, **limits: float) -> PluginCredentials:
        return PluginCredentials(
            "K: user 'u'", kubeconfig(user=self.user()), clock=clock, limits=PluginLimits(**limits)
        )


def at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


async def test_a_plugin_runs_when_first_needed_and_its_token_is_kept(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, token="t")
    connection = load_connection(write(tmp_path / "k", kubeconfig(user={**plugin.user(), "as": "bob"})))
    assert plugin.runs == 0
    for _ in range(3):
        assert list(await connection.credentials.headers()) == [
            ("Authorization", "Bearer t1"),
            ("Impersonate-User", "bob"),
        ]
    assert plugin.runs == 1


async def test_a_plugin_beside_the_kubeconfig_is_found(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, token="t")
    script = write(tmp_path / "bin" / "get-token", f"#!/bin/sh\nexec {sys.executable} {tmp_path}/plugin.py\n")
    script.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/get-token"}}
    connection = load_connection(write(tmp_path / "k", kubeconfig(user=user)))
    assert authorization(await connection.credentials.headers()) == "Bearer t1"
    assert plugin.runs == 1


async def test_a_token_is_renewed_shortly_before_it_runs_out(tmp_path: Path) -> None:
    clock = FakeClock(now=datetime.now(UTC).timestamp())
    plugin = Plugin(tmp_path, token="t", expirationTimestamp=at(clock.now() + 3600))
    credentials = plugin.credentials(clock, skew_seconds=60.0)
    assert authorization(await credentials.headers()) == "Bearer t1"
    clock.advance(3500.0)
    assert authorization(await credentials.headers()) == "Bearer t1"
    clock.advance(45.0)
    assert authorization(await credentials.headers()) == "Bearer t2"


async def test_a_plugin_with_stale_tokens_is_not_run_for_each_request(tmp_path: Path) -> None:
    clock = FakeClock(now=datetime.now(UTC).timestamp())
    plugin = Plugin(tmp_path, token="t", expirationTimestamp=at(clock.now() - 5))
    credentials = plugin.credentials(clock, pause_seconds=10.0)
    for _ in range(5):
        await credentials.headers()
    assert plugin.runs == 1
    clock.advance(10.0)
    await credentials.headers()
    assert plugin.runs == 2


async def test_a_refused_token_is_renewed_but_not_in_a_storm(tmp_path: Path) -> None:
    clock = FakeClock()
    plugin = Plugin(tmp_path, token="t")
    credentials = plugin.credentials(clock, pause_seconds=10.0)
    first = await credentials.headers()
    assert not await credentials.refresh(first)
    clock.advance(10.0)
    assert await credentials.refresh(first)
    assert await credentials.refresh(first)
    assert authorization(await credentials.headers()) == "Bearer t2"
    assert plugin.runs == 2


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    pair = {
        "clientCertificateData": (DATA / "client.pem").read_text(),
        "clientKeyData": (DATA / "client.key").read_text(),
    }
    plugin = Plugin(tmp_path, **pair)
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": data64("authority.pem")}
    connection = load_connection(write(tmp_path / "k", kubeconfig(cluster, plugin.user())))
    assert await connection.credentials.headers() == ()
    assert connection.tls is not None


async def test_a_plugin_that_fails_is_not_run_for_each_request(tmp_path: Path) -> None:
    clock = FakeClock()
    plugin = Plugin(tmp_path, fail="no")
    credentials = plugin.credentials(clock, pause_seconds=10.0)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await credentials.headers()
    assert plugin.runs == 1
    plugin.says(token="t")
    clock.advance(10.0)
    assert authorization(await credentials.headers()) == "Bearer t2"


async def test_a_token_is_kept_when_it_cannot_be_renewed(tmp_path: Path) -> None:
    clock = FakeClock(now=datetime.now(UTC).timestamp())
    plugin = Plugin(tmp_path, token="t", expirationTimestamp=at(clock.now() + 600))
    credentials = plugin.credentials(clock)
    kept = await credentials.headers()
    plugin.says(fail="no")
    clock.advance(595.0)
    assert await credentials.headers() == kept
    assert plugin.runs == 2
    clock.advance(10.0)
    with pytest.raises(Unavailable, match="process returned 1"):
        await credentials.refresh(kept)


async def test_a_plugin_that_hangs_is_given_up(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["5"]}}
    credentials = PluginCredentials("K", kubeconfig(user=user), limits=PluginLimits(timeout_seconds=0.05))
    with pytest.raises(Unavailable, match=re.escape(words.no_credentials_in_time("K", 0.05))):
        await credentials.headers()


FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "it fails": ({"fail": "not\nlogged in"}, "gave no credentials: exec: process returned 1. not logged in"),
    "it gives nothing": ({}, "gave neither a token nor a certificate"),
}


@pytest.mark.parametrize(("status", "text"), FAILURES.values(), ids=FAILURES)
async def test_a_plugin_that_fails_gives_one_line(tmp_path: Path, status: dict[str, Any], text: str) -> None:
    with pytest.raises(Unavailable) as caught:
        await Plugin(tmp_path, **status).credentials(FakeClock()).headers()
    assert str(caught.value).startswith("K: user 'u': the plugin ")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_plugin_that_is_not_there_gives_one_line() -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin"}}
    credentials = PluginCredentials("K: user 'u'", kubeconfig(user=user))
    with pytest.raises(Unavailable, match="gave no credentials: No such file or directory: no-such-plugin"):
        await credentials.headers()


async def test_a_provider_nobody_knows_gives_one_line() -> None:
    credentials = PluginCredentials("K: user 'u'", kubeconfig(user={"auth-provider": {"name": "oidc"}}))
    with pytest.raises(Unavailable, match="oidc: missing configuration"):
        await credentials.headers()
