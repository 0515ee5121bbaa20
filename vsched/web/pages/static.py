"""The static files of the page, read once from the package and served without authentication.

The data they show comes from guarded paths. Addresses in the page are relative, so that it also works below another
path, as behind ``kubectl proxy``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable

from aiohttp import hdrs, web

from vsched.web.overview.events import gzipped, piece, takes_gzip
from vsched.web.serve.routing import Contract, Route
from vsched.web.words import routes as words

INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""Types of files that are served; others are not."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "connect", "img")),
        *(f"{what} 'none'" for what in ("base-uri", "form-action", "frame-ancestors")),
    )
)
"""Only our own files and paths, and nothing inline, because users choose the names in the cluster."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Browsers ask each time, which is cheap, so that they never mix files of two versions.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class StaticFile:
    """One file; it is compressed when a browser asks for it first, so that a daemon starts without that work."""

    kind: str
    plain: bytes

    @cached_property
    def zipped(self) -> bytes:
        return gzipped(piece(self.plain, 9))

    @cached_property
    def tag(self) -> str:
        return hashlib.sha256(self.plain).hexdigest()[:20]


def read_files(folder: Traversable | None = None) -> dict[str, StaticFile]:
    """The files by name; empty where the package was built without them."""
    folder = folder if folder is not None else resources.files("vsched.web").joinpath("page")
    if not folder.is_dir():
        return {}
    found = {}
    for file in folder.iterdir():
        kind = TYPES.get(file.name[file.name.rfind(".") :])
        if kind is not None and file.is_file():
            found[file.name] = StaticFile(kind, file.read_bytes())
    return found


def wants_page(request: web.BaseRequest) -> bool:
    """Whether the client is a browser, which asks for HTML by name."""
    return "text/html" in request.headers.get(hdrs.ACCEPT, "").lower()


def page_routes(files: Mapping[str, StaticFile]) -> list[Route]:
    """The routes of all files but the page itself, which ``front`` serves at ``/``."""

    async def answer(request: web.Request) -> web.StreamResponse:
        file = files.get(request.match_info["file"])
        if file is None:
            raise web.HTTPNotFound
        return _sent(request, file)

    contract = Contract(media="*/*")
    return [Route("/page/{file}", answer, words.PAGE, public=lambda _: True, contract=contract)] if files else []


def front(files: Mapping[str, StaticFile], otherwise: Route) -> Route:
    """The page for browsers, ``otherwise`` for all other clients."""
    page = files.get(INDEX)
    if page is None:
        return otherwise

    async def answer(request: web.Request) -> web.StreamResponse:
        if wants_page(request):
            return _sent(request, page, vary="Accept, Accept-Encoding")
        response = await otherwise.answer(request)
        response.headers["Vary"] = "Accept"
        return response

    return otherwise._replace(answer=answer, public=wants_page)


def _sent(request: web.Request, file: StaticFile, vary: str = "Accept-Encoding") -> web.Response:
    zips = takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, ""))
    # One tag for the plain and the compressed form, so it is a weak one.
    tag = f'W/"{file.tag}"'
    headers = HEADERS | {"ETag": tag, "Vary": vary}
    if _known(request.headers.get(hdrs.IF_NONE_MATCH, ""), tag):
        return web.Response(status=304, headers=headers)
    headers |= {"Content-Type": file.kind} | ({"Content-Encoding": "gzip"} if zips else {})
    return web.Response(body=file.zipped if zips else file.plain, headers=headers)


def _known(tags: str, tag: str) -> bool:
    """Whether the client has the file already."""
    return tags.strip() == "*" or tag.removeprefix("W/") in [
        each.strip().removeprefix("W/") for each in tags.split(",")
    ]
