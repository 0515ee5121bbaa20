"""From kubeconfigs and pods to connections, and the one line each mistake gives."""

from __future__ import annotations

import base64
import re
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kube.kubeconfigs import DATA, data64, kubeconfig, write
from tests.kube.stub_server import StubServer, body
from vsched.errors import BadInput, Unavailable
from vsched.kube.auth.config import load_connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.words import answers as answers_words
from vsched.kube.words import auth as auth_words

NOWHERE: dict[str, str] = {}


async def test_plain_http_with_an_empty_user(tmp_path: Path) -> None:
    connection = load_connection(write(tmp_path / "k", kubeconfig({"server": "http://127.0.0.1:8001/"})))
    assert (connection.server, connection.tls, connection.namespace) == ("http://127.0.0.1:8001", None, "mine")
    assert await connection.credentials.headers() == ()
    assert connection.source == f"kubeconfig {tmp_path / 'k'}: context 'here'"


HEADERS = {
    "a token": ({"token": "t1"}, [("Authorization", "Bearer t1")]),
    "a name and a password": ({"username": "me", "password": "pass"}, [("Authorization", "Basic bWU6cGFzcw==")]),
    "a token file beside the kubeconfig": ({"tokenFile": "token", "token": "no"}, [("Authorization", "Bearer filed")]),
    "somebody else's name": (
        {"token": "t", "as": "bob", "as-groups": ["g1", "g2"]},
        [
            ("Authorization", "Bearer t"),
            ("Impersonate-User", "bob"),
            ("Impersonate-Group", "g1"),
            ("Impersonate-Group", "g2"),
        ],
    ),
}


@pytest.mark.parametrize(("user", "headers"), HEADERS.values(), ids=HEADERS)
async def test_users_become_headers(tmp_path: Path, user: dict[str, Any], headers: list[tuple[str, str]]) -> None:
    write(tmp_path / "token", "filed\n")
    connection = load_connection(write(tmp_path / "k", kubeconfig(user=user)))
    assert list(await connection.credentials.headers()) == headers


def test_files_of_the_environment_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "one", kubeconfig(users=None, contexts=None))
    other = kubeconfig({"server": "http://other:1"})
    other["contexts"].append({"name": "there", "context": {"cluster": "c"}})
    other["current-context"] = "there"
    second = write(tmp_path / "two", other)
    environment = {"KUBECONFIG": f"{first}:{tmp_path / 'absent'}:{second}"}
    assert load_connection(environment=environment).server == "http://127.0.0.1:1"
    there = load_connection(context="there", environment=environment)
    assert (there.server, there.namespace) == ("http://127.0.0.1:1", "default")


def test_the_usual_file_is_found(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", kubeconfig())
    assert load_connection(environment={"HOME": str(tmp_path)}).server == "http://127.0.0.1:1"


def clusterless() -> dict[str, Any]:
    return kubeconfig(clusters=[{"name": "d", "cluster": {"server": "http://d"}}])


HTTPS = {"server": "https://h"}
MISTAKES: dict[str, tuple[object, str]] = {
    "an empty file": ("", auth_words.not_a_kubeconfig("K", "empty")),
    "a list": ("- a\n", auth_words.not_a_kubeconfig("K", "a list")),
    "broken YAML": (
        "clusters:\n  - {name: [\n",
        "K:3:1: is not YAML: expected the node content, but found '<stream end>'",
    ),
    "a tab": ("a:\n\t- b", "K:2:1: is not YAML: found character '\\t' that cannot start any token"),
    "a control character": (
        "a: \x07",
        "K: is not YAML: unacceptable character #x0007: special characters are not allowed",
    ),
    "a wrong type": (
        kubeconfig({"server": 5}),
        "K: must be a string, is an integer - at `$.clusters[0].cluster.server`",
    ),
    "a cluster without a name": (kubeconfig(clusters=[{}]), "K: Object missing required field `name`"),
    "no current context": (
        kubeconfig(**{"current-context": ""}),
        "K: no current-context is set; choose one with --context",
    ),
    "a current context that is not there": (
        kubeconfig(**{"current-context": "gone"}),
        auth_words.no_context("K", "gone", " (its current-context)", auth_words.there_is("here")),
    ),
    "a cluster that is not there": (
        clusterless(),
        "K: " + auth_words.no_cluster("context 'here'", "c", auth_words.there_is("d")),
    ),
    "a user that is not there": (
        kubeconfig(users=[]),
        "K: " + auth_words.no_user("context 'here'", "u", auth_words.THERE_IS_NONE),
    ),
    "a password in the server's address": (
        kubeconfig({"server": "https://u:secret@h"}),
        "K: " + auth_words.login_in_address("context 'here'", "c"),
    ),
    "no server": (kubeconfig({"server": ""}), auth_words.no_address("context 'here'", "c", "")),
    "a port that is none": (kubeconfig({"server": "https://h:99999"}), "is 'https://h:99999': Port out of range"),
    "a port of words": (kubeconfig({"server": "https://h:port"}), "Port could not be cast"),
    "a port of nothing": (kubeconfig({"server": "https://h:0"}), auth_words.PORT_ZERO),
    "half an address": (kubeconfig({"server": "http://[::"}), "is 'http://[::': Invalid IPv6 URL, expected a URL"),
    "no host": (
        kubeconfig({"server": "https://"}),
        auth_words.no_address("context 'here'", "c", "https://"),
    ),
    "a host of blanks": (kubeconfig({"server": "https://a b"}), auth_words.LETTERS_NOT_IN_URL),
    "a server with a query": (kubeconfig({"server": "https://h/?x=1"}), auth_words.HAS_QUERY),
    "a proxy of another kind": (
        kubeconfig({"proxy-url": "socks5://me:secret@h:1"}),
        auth_words.bad_proxy("context 'here'", "c", auth_words.scheme_not_spoken("socks5")),
    ),
    "a proxy at no port": (
        kubeconfig({"proxy-url": "http://h:99999"}),
        "proxy-url of cluster 'c' cannot be used: Port",
    ),
    "an empty certificate-authority": (
        kubeconfig({**HTTPS, "certificate-authority": "/dev/null"}),
        "certificate-authority",
    ),
    "an empty certificate": (
        kubeconfig(HTTPS, {"client-certificate-data": "Cg==", "client-key-data": "Cg=="}),
        "client-certificate and client-key do not fit",
    ),
    "nesting without end": ("a: " + "[" * 5000, "is nested too deeply, expected clusters, users and contexts"),
    "a date that is none": ("a: 2026-99-99", "K: is not YAML: month must be in 1..12"),
    "a server without a scheme": (kubeconfig({"server": "host:6443"}), "is 'host:6443', expected a URL"),
    "an authority that is not there": (
        kubeconfig({**HTTPS, "certificate-authority": "no.pem"}),
        "certificate-authority D/no.pem: cannot be read: No such file or directory",
    ),
    "an authority that is not base64": (
        kubeconfig({**HTTPS, "certificate-authority-data": "%"}),
        "context 'here': certificate-authority-data is not base64",
    ),
    "an authority that is no certificate": (
        kubeconfig({**HTTPS, "certificate-authority-data": base64.b64encode(b"hello").decode()}),
        "certificate-authority holds no certificate in PEM form",
    ),
    "a certificate without a key": (
        kubeconfig({**HTTPS, "insecure-skip-tls-verify": True}, {"client-certificate": str(DATA / "client.pem")}),
        "client-key is missing: a client certificate and its key are needed together",
    ),
    "a key of another certificate": (
        kubeconfig(HTTPS, {"client-certificate": str(DATA / "client.pem"), "client-key": str(DATA / "server.key")}),
        "client-certificate and client-key do not fit",
    ),
    "a token file that is not there": (
        kubeconfig(user={"tokenFile": "/no/token"}),
        "user 'u': token file /no/token: cannot be read: No such file or directory",
    ),
    "a token in two lines": (kubeconfig(user={"token": "a\nb"}), auth_words.TOKEN_CANNOT_BE_SENT),
}


@pytest.mark.parametrize(("content", "text"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_in_a_file_gives_one_line(tmp_path: Path, content: object, text: str) -> None:
    file = write(tmp_path / "k", content)
    with pytest.raises(BadInput) as caught:
        load_connection(file)
    line = str(caught.value)
    assert line.startswith(f"kubeconfig {file}")
    assert text in line.replace(str(file), "K").replace(str(tmp_path), "D")
    assert "\n" not in line


def test_what_cannot_be_found_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=re.escape(auth_words.named_does_not_exist("/no/such"))):
        load_connection("/no/such")
    with pytest.raises(BadInput, match=r"/no/a, /no/b: does not exist; it is named by KUBECONFIG"):
        load_connection(environment={"KUBECONFIG": "/no/a:/no/b"})
    with pytest.raises(BadInput, match=r"no cluster to connect to: .* --kubeconfig FILE"):
        load_connection(environment={"HOME": str(tmp_path)})
    with pytest.raises(BadInput, match=r"there is no context 'x'; there is here"):
        load_connection(write(tmp_path / "k", kubeconfig()), "x")


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    write(tmp_path / "token", "pod-token")
    write(tmp_path / "namespace", "kube-system")
    write(tmp_path / "ca.crt", (DATA / "authority.pem").read_text())
    return tmp_path


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


async def test_a_pod_uses_its_service_account(service_account: Path) -> None:
    connection = load_connection(environment=POD, service_account=service_account)
    assert (connection.server, connection.namespace) == ("https://10.0.0.1:443", "kube-system")
    assert await connection.credentials.headers() == (("Authorization", "Bearer pod-token"),)
    six = load_connection(environment={**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}, service_account=service_account)
    assert six.server == "https://[fd00::1]:443"


def test_a_pod_without_a_token_or_port_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"in-cluster configuration: token file .*automountServiceAccountToken"):
        load_connection(environment=POD, service_account=tmp_path)
    with pytest.raises(BadInput, match=r"in-cluster configuration: .*KUBERNETES_SERVICE_PORT are both needed"):
        load_connection(environment={"KUBERNETES_SERVICE_HOST": "h"}, service_account=tmp_path)


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DATA / "server.pem", DATA / "server.key")
    context.load_verify_locations(DATA / "authority.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


SECURED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an authority in a file": ({"certificate-authority": str(DATA / "authority.pem")}, {}, ""),
    "an authority in place": ({"certificate-authority-data": data64("authority.pem")}, {}, ""),
    "the server's other name": (
        {"certificate-authority-data": data64("authority.pem"), "tls-server-name": "kubernetes.test"},
        {},
        "",
    ),
    "a client certificate": (
        {"certificate-authority-data": data64("authority.pem")},
        {"client-certificate-data": data64("client.pem"), "client-key-data": data64("client.key")},
        "",
    ),
    "no verification": ({"insecure-skip-tls-verify": True}, {}, ""),
    "no authority": ({}, {}, answers_words.handshake_failed(".*")),
    "a name that is not the server's": (
        {"certificate-authority-data": data64("authority.pem"), "tls-server-name": "other.test"},
        {},
        "the TLS handshake failed: .*other.test",
    ),
}


def test_a_certificate_needs_a_place_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = {"client-certificate-data": data64("client.pem"), "client-key-data": data64("client.key")}
    file = write(tmp_path / "k", kubeconfig(HTTPS, user))
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/here")
    with pytest.raises(BadInput, match=re.escape(auth_words.no_temporary_file("", "Not a directory"))):
        load_connection(file)


@pytest.mark.parametrize(("cluster", "user", "problem"), SECURED.values(), ids=SECURED)
async def test_tls(tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], problem: str) -> None:
    peers: list[Any] = []

    async def answer(request: Any) -> Any:
        peers.append(request.transport.get_extra_info("peercert"))
        return await body({})(request)

    async with StubServer(server_context()) as server:
        server.script("call", answer)
        file = write(tmp_path / "k", kubeconfig({"server": server.url, **cluster}, user))
        async with ApiClient(load_connection(file), ClientSettings(attempts=1)) as client:
            if problem:
                with pytest.raises(Unavailable, match=problem) as caught:
                    await client.get("/version")
                assert "\n" not in str(caught.value)
            else:
                await client.get("/version")
                assert bool(peers[0]) == bool(user)


def test_a_plain_kubeconfig_does_not_load_the_heavy_library(tmp_path: Path) -> None:
    file = write(tmp_path / "k", kubeconfig())
    code = (
        "import sys\nfrom vsched.kube.auth.config import load_connection\nimport vsched.kube.watch.reflector\n"
        f"load_connection({str(file)!r})\nassert 'kubernetes_asyncio' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
