"""A daemon whose pages are not for everybody, and one whose secrets and tokens are its own business."""

from __future__ import annotations

import asyncio
import io
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support.answering import CERTIFICATES, answering, content
from tests.support.asking import PEOPLE, ask, trusting
from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.running import gang, node, nodes_of, pod
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.cli.run.command import command, options_of
from vsched.daemon.access_options import AccessOptions
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options, check
from vsched.daemon.words import options as words
from vsched.errors import BadInput
from vsched.kube.auth.config import load_connection
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import TokenFile
from vsched.kube.client import ApiClient
from vsched.log import configure
from vsched.settings.built_in import REGISTRY
from vsched.sim.authentication import ADMIN
from vsched.sim.cluster import Cluster, ClusterSettings

pytestmark = pytest.mark.real_time

RBAC = ClusterSettings(authorization="rbac")
TLS = {"tls_cert_file": CERTIFICATES / "server.pem", "tls_key_file": CERTIFICATES / "server.key"}


@asynccontextmanager
async def running(connection: Connection, **options: Any) -> AsyncIterator[Daemon]:
    """A daemon that acts with this connection, listening where nobody else does."""
    addresses = {"listen_address": "127.0.0.1:0", "healthz_address": "127.0.0.1:0"}
    async with ApiClient(connection) as client, asyncio.TaskGroup() as group:
        daemon = Daemon(Options(**{**addresses, **options}), client, REGISTRY)
        task = group.create_task(daemon.run())
        try:
            await until(lambda: daemon.ports or task.done())
            yield daemon
        finally:
            daemon.stop()
            await asyncio.wait((task,), timeout=PATIENCE_SECONDS)
            task.cancel()


def kubeconfig(folder: Path, cluster: Cluster) -> Path:
    """One with the administrator's token in a file of its own."""
    token, file = folder / "token", folder / "kubeconfig"
    token.write_text(cluster.admin_token)
    config = cluster.kubeconfig()
    config["users"][0]["user"] = {"tokenFile": "token"}
    file.write_text(yaml.safe_dump(config))
    return file


async def test_pages_are_for_those_whom_rbac_lets_see_them_and_probes_for_everybody(tmp_path: Path) -> None:
    async with Cluster([node("n1")], manifests=[pod("p1", cpu="64")], settings=RBAC) as cluster:
        access = AccessOptions(authentication="tokenreview", client_ca_file=PEOPLE / "authority.pem")
        async with running(load_connection(kubeconfig(tmp_path, cluster)), access=access, **TLS) as daemon:
            public = f"https://127.0.0.1:{daemon.ports['--listen-address']}"
            health = f"http://127.0.0.1:{daemon.ports['--healthz-address']}"
            await until(lambda: daemon.health.ready().ok)
            for path in ("/livez", "/readyz", "/healthz"):
                assert (await ask(health + path)).status == 200
            for path in ("/", "/metrics", "/configz", "/explain/default/p1", "/extender/filter", "/nowhere"):
                assert (await ask(public + path, tls=trusting())).status == 401
                assert (await ask(public + path, "made-up", trusting())).status == 401
                assert (await ask(public + path, tls=trusting("alice"))).status == 403
            known = await ask(f"{public}/explain/default/p1", cluster.admin_token, trusting())
            assert known.status == 200
            metrics = await ask(f"{public}/metrics", cluster.admin_token, trusting())
            assert 'vsched_http_refusals_total{name="401"} 12.0' in metrics.body
            assert 'vsched_http_refusals_total{name="403"} 6.0' in metrics.body


async def test_every_port_speaks_tls_where_that_is_asked_for_and_takes_a_new_certificate(tmp_path: Path) -> None:
    files = {"tls_cert_file": tmp_path / "tls.crt", "tls_key_file": tmp_path / "tls.key"}
    copyfile(CERTIFICATES / "server.pem", files["tls_cert_file"])
    copyfile(CERTIFICATES / "server.key", files["tls_key_file"])
    access = AccessOptions(tls_on=("listen", "webhook", "healthz"))
    async with (
        Cluster() as cluster,
        running(
            Connection(cluster.url), access=access, arbitrate=True, webhook_address="127.0.0.1:0", **files
        ) as daemon,
    ):
        assert len(daemon.ports) == 3
        for flag, path in (("listen", "/"), ("webhook", "/validate/consumers"), ("healthz", "/livez")):
            answer = await ask(f"https://127.0.0.1:{daemon.ports[f'--{flag}-address']}{path}", tls=trusting())
            assert answer.status == (405 if flag == "webhook" else 200)
        assert len([task for task in daemon.tasks if task.name.startswith("certificate of")]) == 3


async def test_the_webhook_answers_only_who_shows_the_right_certificate_where_one_is_demanded() -> None:
    access = AccessOptions(webhook_client_ca_file=PEOPLE / "authority.pem")
    async with (
        Cluster() as cluster,
        running(Connection(cluster.url), access=access, arbitrate=True, webhook_address="127.0.0.1:0", **TLS) as daemon,
    ):
        webhook = f"https://127.0.0.1:{daemon.ports['--webhook-address']}/validate/consumers"
        assert (await ask(webhook, tls=trusting("alice"))).status == 405
        with pytest.raises(aiohttp.ClientError):
            await ask(webhook, tls=trusting())
        assert (await ask(f"https://127.0.0.1:{daemon.ports['--listen-address']}/", tls=trusting())).status == 200


BAD_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "tokens without TLS": (
        {"access": AccessOptions(authentication="tokenreview")},
        words.listens_without_tls("--authentication tokenreview"),
    ),
    "TLS elsewhere": (
        {"access": AccessOptions(authentication="tokenreview", tls_on=("healthz",)), **TLS},
        "--listen-address is without TLS",
    ),
    "certificates without TLS, on this machine only": (
        {
            "listen_address": "127.0.0.1:8080",
            "access": AccessOptions(authentication="certificate", client_ca_file=Path("ca")),
        },
        "--listen-address is without TLS",
    ),
    "certificates without an authority": (
        {"access": AccessOptions(authentication="certificate"), **TLS},
        words.no_client_possible("--authentication certificate"),
    ),
    "a token file for nothing": (
        {"access": AccessOptions(token_file=Path("tokens"))},
        "--token-file: needs authentication",
    ),
    "a token file that is not named": (
        {"access": AccessOptions(authentication="token-file"), **TLS},
        words.TOKEN_FILE_ALONE,
    ),
    "a token file for another way": (
        {"access": AccessOptions(authentication="tokenreview", token_file=Path("tokens")), **TLS},
        words.TOKEN_FILE_ALONE,
    ),
    "people named for nothing": (
        {"access": AccessOptions(allow_groups=("g",))},
        words.needs_authentication("--allow-group"),
    ),
    "an authority for nothing": (
        {"access": AccessOptions(client_ca_file=Path("ca")), **TLS},
        "--client-ca-file: needs authentication",
    ),
    "an audience for nothing": (
        {
            "access": AccessOptions(authentication="certificate", client_ca_file=Path("ca"), token_audiences=("a",)),
            **TLS,
        },
        words.AUDIENCE_WITHOUT_EFFECT,
    ),
    "probes over TLS without a certificate": (
        {"access": AccessOptions(tls_on=("healthz",))},
        words.HEALTHZ_WITHOUT_CERTIFICATE,
    ),
    "a webhook's authority without TLS": (
        {"access": AccessOptions(webhook_client_ca_file=Path("ca"))},
        words.CLIENT_CA_WITHOUT_TLS,
    ),
}


@pytest.mark.parametrize(("options", "says"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)):
        check(Options(**options))


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "[::1]:8080", "localhost:8080", ""])
def test_where_only_this_machine_comes_tokens_may_be_in_the_clear(address: str) -> None:
    check(Options(listen_address=address, access=AccessOptions(authentication="tokenreview")))


def test_flags_say_who_may_ask() -> None:
    flags = ["--authentication", "token-file", "--token-file", "/t", "--allow-user", "a", "--allow-user", "b"]
    flags += ["--tls-on", "healthz", "--client-ca-file", "/c", "--allow-group", "g", "--token-audience", "x"]
    parsed = command.make_context("vsched", flags).params
    for name in ("kubeconfig", "context", "log_level", "log_format"):
        parsed.pop(name)
    assert options_of(parsed, parsed.pop("window_ms")).access == AccessOptions(
        tls_on=("healthz",),
        authentication="token-file",
        token_file=Path("/t"),
        token_audiences=("x",),
        client_ca_file=Path("/c"),
        allow_users=("a", "b"),
        allow_groups=("g",),
    )


# -- the daemon's own token


async def test_a_daemon_goes_on_when_its_token_is_replaced_and_the_old_one_is_refused(tmp_path: Path) -> None:
    """The server takes only the new token while the file still has the old one, and every watch is cut meanwhile."""
    async with Cluster([node("n1", cpu="64")], settings=RBAC) as cluster, faulty(cluster.url) as proxy:
        file = tmp_path / "token"
        file.write_text(cluster.admin_token)
        # Read again after an hour, so that nothing but a refusal makes it look.
        connection = Connection(proxy.url, credentials=TokenFile(file, reread_seconds=3600.0))
        async with running(connection):
            cluster.apply(gang("before", 2))
            await until(lambda: len(nodes_of(cluster, "before")) == 2)
            for old, new in ((cluster.admin_token, "first"), ("first", "second")):
                await _replace_token(cluster, proxy, file.write_text, old, new)


async def _replace_token(
    cluster: Cluster, proxy: FaultProxy, write: Callable[[str], object], old: str, new: str
) -> None:
    def refused() -> int:
        return sum(count for (_, code), count in proxy.seen.items() if code == 401)

    before = refused()
    cluster.tokens.static[new] = ADMIN
    del cluster.tokens.static[old]
    proxy.cut_watches()
    cluster.apply(gang(new, 2))
    await until(lambda: refused() > before)
    assert not nodes_of(cluster, new)
    write(new)
    await until(lambda: len(nodes_of(cluster, new)) == 2)


# -- secrets


MARKED = "marked-secret-"
"""Begins everything that nobody but its owner is to see."""
POLICY = """
actions: "allocate"
tiers: [{plugins: [{name: gang}, {name: predicates}]}]
metrics:
  type: prometheus
  address: %s
  interval: 1s
  basicauth: true
  username: vsched
  passwordFile: %s
"""


@pytest.mark.parametrize("form", ["json", "console"])
async def test_secrets_are_in_no_line_and_on_no_page(tmp_path: Path, form: str) -> None:
    """Everything that can be told is told: debug lines, a source that refuses, wrong tokens, files that turn bad."""
    output = io.StringIO()
    configure("debug", form, output)
    names = ("api", "password", "page", "wrong", "new", "other")
    secrets = {name: f"{MARKED}{name}-0123456789" for name in names}
    files = {name: tmp_path / name for name in ("policy", "password", "tokens", "kubeconfig")}
    files["password"].write_text(secrets["password"])
    files["tokens"].write_text(f"{secrets['page']},operator,1\n")
    pages = []
    async with answering() as source, Cluster([node("n1")], settings=RBAC) as cluster:
        source.replies["*"] = content({"status": "error", "error": "go away"}, 401)
        files["policy"].write_text(POLICY % (source.url, files["password"]))
        cluster.tokens.static[secrets["api"]] = ADMIN
        config = cluster.kubeconfig()
        config["users"][0]["user"] = {"token": secrets["api"]}
        files["kubeconfig"].write_text(yaml.safe_dump(config))
        access = AccessOptions(authentication="token-file", token_file=files["tokens"])
        connection = load_connection(files["kubeconfig"])
        async with running(
            connection, access=access, policy_file=files["policy"], policy_files=(str(tmp_path),), **TLS
        ) as daemon:
            public = f"https://127.0.0.1:{daemon.ports['--listen-address']}"
            cluster.apply(gang("g", 2))
            await until(lambda: len(nodes_of(cluster, "g")) == 2)
            await until(lambda: source.asked)
            for token in ("", secrets["wrong"], f"{secrets['wrong']} {secrets['wrong']}"):
                page = await ask(f"{public}/configz", token, trusting())
                assert page.status == 401
                pages.append(page)
            files["tokens"].write_text(f"{secrets['page']},operator\n{secrets['new']}\n")
            files["policy"].write_text(f"actions: allocate\nmetrics: {{password: {secrets['other']}}}\n")
            assert daemon.listeners._table is not None
            daemon.listeners._renewed(daemon.listeners._table.renewed.look())  # type: ignore[arg-type]
            daemon.policy.nudge()
            await until(lambda: not daemon.policy.last.ok)
            del cluster.tokens.static[secrets["api"]]
            for path in ("/", "/metrics", "/configz", "/queues", "/jobs", "/nodes", "/explain/default/g-0"):
                page = await ask(public + path, secrets["page"], trusting())
                assert page.status == 200
                pages.append(page)
            health = f"http://127.0.0.1:{daemon.ports['--healthz-address']}/readyz"
            pages.append(await ask(health))
    lines = output.getvalue()
    login = b64encode(f"vsched:{secrets['password']}".encode()).decode()
    assert any(login in str(request) for request in source.asked)
    assert "go away" in lines
    assert "request refused" in lines
    assert "policy rejected" in lines
    assert "the previous list of tokens stays in use" in lines
    told = [lines, *(f"{page.headers}{page.body}" for page in pages)]
    for text in told:
        assert MARKED not in text
        assert login not in text
