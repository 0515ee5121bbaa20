"""Who may look at the page, and what becomes of it where its daemon goes away."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import sitting
from tests.web.page.pictured import Going, pictured
from vsched.clock import SystemClock
from vsched.web.overview.assembly import Around, assemble_without_session
from vsched.web.serve.access import Access, AllowList
from vsched.web.serve.tokens import TokenTable

expect: Any = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_who_must_show_a_token_is_asked_and_it_stays_in_the_tab(browser: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("the-right-one-of-all,alice,1\n")
    tokens.chmod(0o600)
    access = Access(TokenTable(tokens), AllowList(), SystemClock(), lambda event, **fields: None, certificates=False)
    async with pictured(Going(1, 1), access=access) as url, sitting(browser, url) as found:
        page = found.page
        await expect(page.locator("#token-why")).to_contain_text("bearer token")
        await page.get_by_label("Bearer token").fill("«un»")
        await page.keyboard.press("Enter")
        await expect(page.locator("#token-why")).to_contain_text("not a token")
        for token, kind in (("a-wrong-one-of-all", "refused"), ("Bearer the-right-one-of-all", "live")):
            await page.get_by_label("Bearer token").fill(token)
            await page.keyboard.press("Enter")
            await expect(page.locator("#connection")).to_have_attribute("data-kind", kind)
        await expect(page.locator("#token-form")).to_be_hidden()
        await expect(page.locator("#count-nodes")).to_have_text("1")
        assert await page.evaluate("JSON.stringify(localStorage)") == "{}"
        await page.reload()
        await expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
        await page.get_by_role("button", name="Forget token").click()
        await expect(page.get_by_label("Bearer token")).to_be_focused()
        # The browser itself tells of each answer that is a refusal; nothing else may be wrong.
        assert [said for said in found.trouble if "401" not in said] == []


async def test_a_daemon_that_goes_and_comes_is_followed_without_a_reload(browser: Any) -> None:
    async with AsyncExitStack() as stack:
        async with pictured(Going(6, 4)) as url:
            found = await stack.enter_async_context(sitting(browser, url))
            page = found.page
            await expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
            await page.evaluate("window.kept = true")
        await expect(page.locator("#connection")).to_have_attribute("data-kind", "lost")
        await expect(page.locator("#connection-told")).to_contain_text("old; again in")
        await page.get_by_role("button", name="Try now").click()  # nobody is there yet
        again = Going(7, 4)
        starting = assemble_without_session(Around(at=again.now.at, role="starting"))
        again.feed.publish(starting, None, None)
        async with pictured(again, url.removeprefix("http://").rstrip("/")):
            await expect(page.locator("#connection")).to_have_attribute("data-kind", "live")
            await expect(page.locator("#count-nodes")).to_have_text("7")
            await expect(page.locator("#idle")).to_be_hidden()
            # While it began it had no resources to choose among: what is shown of the nodes is what it was.
            await expect(page.get_by_label("Show")).to_have_value("nvidia.com/gpu")
            assert await page.evaluate("window.kept")
