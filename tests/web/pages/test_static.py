"""The files of the page: what kind they are said to be, who may have them, and what they may do in a browser."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.support.asking import HELLO, Lines, ask, hello
from vsched.clock import FakeClock
from vsched.web.pages.static import INDEX, TYPES, front, page_routes, read_files
from vsched.web.serve.access import Access, AllowList
from vsched.web.serve.routing import Route, as_json

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
SCRIPT = "export const words = 'ä';\n" * 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    page.mkdir()
    for name, text in {
        INDEX: "<!doctype html>",
        "page.js": SCRIPT,
        "page.css": "a {}",
        "icon.svg": "<svg/>",
        "notes.txt": "not for everybody",
    }.items():
        (page / name).write_text(text, encoding="utf-8")
    (tmp_path / "secret.js").write_text("secret")
    return page


@asynccontextmanager
async def served(folder: Path, access: Access | None = None) -> AsyncIterator[str]:
    async def index(_: object) -> aiohttp.web.StreamResponse:
        return as_json({"/": "this list"})

    files = read_files(folder)
    async with hello(access, routes=[front(files, Route("/", index, "this list")), *page_routes(files)]) as url:
        yield url


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (BROWSER, "text/html; charset=utf-8"),
        ("TEXT/HTML", "text/html; charset=utf-8"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("", "application/json"),
    ],
)
async def test_browsers_get_the_page(folder: Path, accept: str, kind: str) -> None:
    async with served(folder) as url:
        found = await ask(url, Accept=accept)
    assert (found.status, found.headers["Content-Type"].replace("; charset=utf-8", "")) == (200, kind.partition(";")[0])
    assert "Accept" in found.headers["Vary"]


async def test_files_have_their_kind_and_may_do_nothing_but_what_the_page_needs(folder: Path) -> None:
    async with served(folder) as url:
        for name in ("page.js", "page.css", "icon.svg"):
            found = await ask(f"{url}/page/{name}")
            assert found.headers["Content-Type"] == TYPES[f".{name.partition('.')[2]}"]
            assert found.headers["Content-Security-Policy"] == (
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            )
            assert found.headers["X-Content-Type-Options"] == "nosniff"
            assert found.headers["Referrer-Policy"] == "no-referrer"
            assert "camera=()" in found.headers["Permissions-Policy"]
            assert found.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert found.headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert found.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_files_come_whole_in_either_encoding(folder: Path, encoding: str) -> None:
    async with (
        served(folder) as url,
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(f"{url}/page/page.js", headers={"Accept-Encoding": encoding}) as answer,
    ):
        body = await answer.read()
        assert answer.headers.get("Content-Encoding", "identity") == encoding
        assert answer.headers["Vary"] == "Accept-Encoding"
    assert (gzip.decompress(body) if encoding == "gzip" else body) == SCRIPT.encode()


@pytest.mark.parametrize("path", ["/page/page.js", "/"])
async def test_what_a_browser_has_already_is_not_sent_again(folder: Path, path: str) -> None:
    async with served(folder) as url:
        first = await ask(url + path, Accept=BROWSER)
        again = {"Accept": BROWSER, "If-None-Match": f'"other", {first.headers["ETag"]}'}
        known, other = await ask(url + path, **again), await ask(url + path, **again | {"If-None-Match": '"other"'})
        assert (known.status, known.body, other.status) == (304, "", 200)
        assert known.headers["ETag"] == first.headers["ETag"]
        assert "Content-Security-Policy" in known.headers


async def test_a_file_that_changes_has_another_tag(folder: Path) -> None:
    before = read_files(folder)["page.js"].tag
    (folder / "page.js").write_text("other")
    assert read_files(folder)["page.js"].tag != before


async def test_head_is_answered_like_get_without_a_body(folder: Path) -> None:
    async with served(folder) as url:
        found = await ask(f"{url}/page/page.css", method="HEAD")
        assert (found.status, found.headers["Content-Type"], found.body) == (200, "text/css; charset=utf-8", "")


@pytest.mark.parametrize(
    "path",
    [
        *("/page/nothing.js", "/page/notes.txt", "/page/", "/page/index", "/page/../secret.js"),
        *("/page/..%2Fsecret.js", "/page/%2e%2e%2fsecret.js", "/page/sub/page.js"),
    ],
)
async def test_nothing_else_is_served(folder: Path, path: str) -> None:
    async with served(folder) as url:
        assert (await ask(url + path)).status == 404


async def test_the_page_is_for_everybody_and_the_list_of_paths_for_those_who_are_let_in(folder: Path) -> None:
    access = Access(None, AllowList(), FakeClock(), Lines(), certificates=True)
    async with served(folder, access) as url:
        assert (await ask(url, Accept=BROWSER)).status == 200
        assert (await ask(f"{url}/page/page.js")).status == 200
        assert (await ask(url)).status == 401
        assert (await ask(f"{url}/page/nothing.js")).status == 404
        assert (await ask(f"{url}/pages/page.js", Accept=BROWSER)).status == 401


def test_where_the_package_has_no_page_everybody_gets_the_list(tmp_path: Path) -> None:
    files = read_files(tmp_path / "nowhere")
    assert page_routes(files) == []
    assert front(files, HELLO[0]) is HELLO[0]


def test_the_page_that_ships_is_whole() -> None:
    """What is named in it exists, and nothing in it is inline or from elsewhere: the browser would refuse it."""
    files = read_files()
    index = files[INDEX].plain.decode()
    assert "<style" not in index
    assert " style=" not in index
    assert " onclick=" not in index
    for tag in index.split("<script")[1:]:
        assert tag.partition(">")[2].lstrip().startswith("</script>")
        assert "src=" in tag.partition(">")[0]
    for name in files:
        assert name == INDEX or name in "".join(file.plain.decode() for file in files.values()), name
