"""Certificates that are replaced while a server runs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copyfile

import aiohttp
import pytest
from aiohttp import web

from vsched.errors import BadInput
from vsched.web.serve.renewal import Renewal
from vsched.web.serve.routing import Route, as_json
from vsched.web.serve.server import serving
from vsched.web.serve.tls import ReloadingContext
from vsched.web.words import access as words

DATA = Path(__file__).parents[2] / "kube" / "data"
"""Two certificates of one authority, ``server`` and ``client``, for 127.0.0.1 and kubernetes.test."""


class Files:
    """A certificate and its key, as whoever renews them leaves them."""

    def __init__(self, directory: Path) -> None:
        self.certificate, self.key = directory / "tls.crt", directory / "tls.key"
        self.put("server", "server")

    def put(self, certificate: str, key: str) -> None:
        copyfile(DATA / f"{certificate}.pem", self.certificate)
        copyfile(DATA / f"{key}.key", self.key)

    def context(self) -> ReloadingContext:
        return ReloadingContext(self.certificate, self.key)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def _hello(_: web.Request) -> web.StreamResponse:
    return as_json("hello")


@asynccontextmanager
async def hello(reloading: ReloadingContext) -> AsyncIterator[int]:
    """A server with one page behind TLS."""
    async with serving([Route("/", _hello, "hello")], "127.0.0.1:0", "--webhook-address", reloading.context) as port:
        yield port


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(DATA / "authority.pem"))


async def shown(port: int, host: str | None = None, context: ssl.SSLContext | None = None) -> str:
    """The common name of the certificate that a new connection sees; ``host`` is asked for by name."""
    _, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context or trusting(), server_hostname=host or "127.0.0.1"
    )
    subject = dict(pair for (pair,) in writer.get_extra_info("peercert")["subject"])
    writer.close()
    await writer.wait_closed()
    return str(subject["commonName"])


async def test_new_connections_see_the_new_certificate_and_old_ones_go_on(files: Files) -> None:
    reloading = files.context()
    async with hello(reloading) as port, aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{port}/"
        assert reloading.look() is None

        async def get() -> None:
            async with session.get(url, ssl=trusting_once) as answer:
                assert await answer.json() == "hello"

        trusting_once = trusting()
        await get()
        assert await shown(port) == "server"
        files.put("client", "client")
        renewal = reloading.look()
        assert renewal is not None
        assert renewal.ok
        assert str(files.certificate) in renewal.text
        assert await shown(port) == "client"
        assert await shown(port, "kubernetes.test") == "client"
        await get()
        assert reloading.look() is None


@pytest.mark.parametrize(
    ("certificate", "key", "says"),
    [
        pytest.param("client", "server", "mismatch", id="a certificate and another one's key"),
        pytest.param("authority", "client", "mismatch", id="the authority's certificate"),
    ],
)
async def test_a_pair_that_does_not_fit_changes_nothing_and_is_told_of_once(
    files: Files, certificate: str, key: str, says: str
) -> None:
    reloading = files.context()
    async with hello(reloading) as port:
        files.put(certificate, key)
        renewal = reloading.look()
        assert renewal is not None
        assert not renewal.ok
        assert says in renewal.text.lower()
        assert "\n" not in renewal.text
        assert reloading.look() is None
        assert await shown(port) == "server"
        files.put("client", "client")
        assert reloading.look() == Renewal(True, words.new_in_use("certificate", files.certificate))
        assert await shown(port) == "client"


async def test_files_that_go_and_come_back(files: Files) -> None:
    reloading = files.context()
    async with hello(reloading) as port:
        files.key.unlink()
        renewal = reloading.look()
        assert renewal is not None
        assert not renewal.ok
        assert f"{files.key}: cannot be read: No such file or directory; the previous" in renewal.text
        assert await shown(port) == "server"
        files.put("server", "server")
        assert reloading.look() == Renewal(True, words.back_to("certificate"))
        assert reloading.look() is None


async def test_the_files_are_looked_at_without_being_asked(files: Files) -> None:
    reloading = files.context()
    told: asyncio.Queue[Renewal] = asyncio.Queue()
    looking = asyncio.create_task(reloading.run(told.put_nowait, seconds=0.005))
    try:
        async with hello(reloading) as port, asyncio.timeout(20):
            # Through a link, as volumes of Secrets change.
            files.certificate.unlink()
            assert not (await told.get()).ok
            files.key.unlink()
            files.certificate.symlink_to(DATA / "client.pem")
            files.key.symlink_to(DATA / "client.key")
            while not (await told.get()).ok:
                pass
            assert await shown(port) == "client"
    finally:
        looking.cancel()


async def test_nothing_older_than_tls_1_2_is_spoken(files: Files) -> None:
    old = trusting()
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    middle = trusting()
    middle.maximum_version = ssl.TLSVersion.TLSv1_2
    async with hello(files.context()) as port:
        assert await shown(port, context=middle) == "server"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(port, context=old)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(None, "No such file or directory", id="no file"),
        pytest.param("", "cannot be used", id="an empty file"),
        pytest.param("-----BEGIN PRIVATE KEY-----\nnonsense\n", "cannot be used", id="nonsense"),
        pytest.param((DATA / "client.key").read_text(), "expected a certificate and its key", id="another's key"),
    ],
)
def test_a_pair_that_cannot_be_used_at_the_start_is_refused_in_one_line(
    files: Files, content: str | None, says: str
) -> None:
    if content is None:
        files.key.unlink()
    else:
        files.key.write_text(content)
    with pytest.raises(BadInput, match=f"^--tls-cert-file and --tls-private-key-file: .*{says}") as refused:
        files.context()
    assert "\n" not in str(refused.value)


def test_a_key_with_a_password_is_refused_rather_than_asked_for(files: Files) -> None:
    locked = DATA.parents[1] / "web" / "data" / "locked.key"
    copyfile(locked, files.key)
    with pytest.raises(BadInput, match="without a password"):
        files.context()
