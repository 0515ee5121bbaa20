"""A real browser for tests of the page, and everything in it that must not happen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
WITHOUT = (
    # What its windows show besides the page: two pages of its own for each window, half of what a test of ours costs.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    # What Playwright goes without: of two such lists, the last one counts.
    *(
        "DestroyProfileOnBrowserClose",
        "HttpsUpgrades",
        "HttpsFirstBalancedModeAutoEnable",
        "LensOverlay",
        "MediaRouter",
    ),
    *("PaintHolding", "ThirdPartyStoragePartitioning", "OptimizationHints", "NetworkTimeServiceQuerying"),
    *("AimEnabled", "PreconnectToSearch"),
)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-site-isolation-trials"),
    f"--disable-features={','.join(WITHOUT)}",
)
"""Without a display, and without a word to anybody but who is asked."""


def needs_chromium() -> None:
    """Skip where there is no browser to drive."""
    pytest.importorskip("playwright", reason="playwright is not installed (it is in the dev group)")
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there (apt install chromium)")


@asynccontextmanager
async def chromium() -> AsyncIterator[Any]:
    """A browser."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


class Sitting:
    """A page somebody has open, and what they would find in its console."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.trouble: list[str] = []
        """Errors, violations of the content security policy among them, in the order in which they came."""
        self.asked: list[str] = []
        """Every address that was asked for."""
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.trouble.append(f"{message.type}: {message.text}")

    async def begin(self, url: str) -> None:
        """Open an address as somebody who has never been here, in the same window."""
        if self.page.url.startswith(url):
            await self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.trouble.clear()
        self.asked.clear()
        await self.page.goto(url)

    def foreign(self, url: str) -> list[str]:
        """Addresses that are not below this one."""
        return [asked for asked in self.asked if not asked.startswith(url)]


@asynccontextmanager
async def sitting(browser: Any, url: str, before: str = "", **context: Any) -> AsyncIterator[Sitting]:
    """Somebody opens an address in a browser that knows nothing yet; a script may run before the page's own."""
    options = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce", **context}
    session = await browser.new_context(**options)
    try:
        await session.add_init_script(before)
        found = Sitting(await session.new_page())
        await found.page.goto(url)
        yield found
    finally:
        await session.close()
