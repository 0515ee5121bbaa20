"""The files of the page: read once, from the package, and served to everybody, for there is nothing in them to hide.

Whatever they show comes from paths that are guarded. Addresses are relative to the page, so that it also works below a
path of somebody else's, as behind ``kubectl proxy``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from aiohttp import hdrs, web

from vsched.web.overview.events import gzipped, piece, takes_gzip
from vsched.web.serve.routing import Route

INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""What files of the page may be; others are not served."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "connect", "img")),
        *(f"{what} 'none'" for what in ("base-uri", "form-action", "frame-ancestors")),
    )
)
"""Nothing but our own files and paths, and nothing inline: names in the cluster are chosen by its users."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # To be asked about each time, which costs next to nothing: what is kept must never be of another version.
    "Cache-Control": "no-cache",
}


class StaticFile(NamedTuple):
    """One file, ready to be sent either way."""

    kind: str
    plain: bytes
    zipped: bytes
    tag: str


def read_files(folder: Traversable | None = None) -> dict[str, StaticFile]:
    """The files of the page by name; nothing where the package was built without them."""
    folder = folder if folder is not None else resources.files("vsched.web").joinpath("page")
    if not folder.is_dir():
        return {}
    found = {}
    for file in folder.iterdir():
        kind = TYPES.get(file.name[file.name.rfind(".") :])
        if kind is not None and file.is_file():
            plain = file.read_bytes()
            found[file.name] = StaticFile(kind, plain, gzipped(piece(plain, 9)), hashlib.sha256(plain).hexdigest()[:20])
    return found


def wants_page(request: web.BaseRequest) -> bool:
    """Whether a browser asks, which takes HTML by name; programs take anything."""
    return "text/html" in request.headers.get(hdrs.ACCEPT, "").lower()


def page_routes(files: Mapping[str, StaticFile]) -> list[Route]:
    """Everything the page consists of; but for itself, which is the answer to ``/`` (``front``)."""

    async def answer(request: web.Request) -> web.StreamResponse:
        file = files.get(request.match_info["file"])
        if file is None:
            raise web.HTTPNotFound
        return _sent(request, file)

    return [Route("/page/{file}", answer, "the files of the page", public=lambda request: True)] if files else []


def front(files: Mapping[str, StaticFile], otherwise: Route) -> Route:
    """The page for browsers, something else for everybody else."""
    page = files.get(INDEX)
    if page is None:
        return otherwise

    async def answer(request: web.Request) -> web.StreamResponse:
        if wants_page(request):
            return _sent(request, page, vary="Accept, Accept-Encoding")
        response = await otherwise.answer(request)
        response.headers["Vary"] = "Accept"
        return response

    return Route(otherwise.path, answer, otherwise.says, public=wants_page)


def _sent(request: web.Request, file: StaticFile, vary: str = "Accept-Encoding") -> web.Response:
    zips = takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, ""))
    # The same thing in two forms, so the tag is a weak one.
    tag = f'W/"{file.tag}"'
    headers = HEADERS | {"ETag": tag, "Vary": vary}
    if _known(request.headers.get(hdrs.IF_NONE_MATCH, ""), tag):
        return web.Response(status=304, headers=headers)
    headers |= {"Content-Type": file.kind} | ({"Content-Encoding": "gzip"} if zips else {})
    return web.Response(body=file.zipped if zips else file.plain, headers=headers)


def _known(tags: str, tag: str) -> bool:
    """Whether the other side has the file already."""
    return tags.strip() == "*" or tag.removeprefix("W/") in [
        each.strip().removeprefix("W/") for each in tags.split(",")
    ]
