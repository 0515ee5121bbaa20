"""Links of pages, led to where they are read."""

from __future__ import annotations

import pytest

from helm.release.links import led
from helm.release.metadata import absolute
from tests.support.pages import TOP, Page, pages


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a [b](c.md#d)", "a [b](<c.md#d>)", id="a link"),
        pytest.param("![b](c.png)", "![b](!c.png)", id="a picture"),
        pytest.param("[`b` c](d)", "[`b` c](<d>)", id="words set as code within a link"),
        pytest.param("[b](https://example.com)", "[b](https://example.com)", id="another site"),
        pytest.param("`[b](c)`", "`[b](c)`", id="code"),
        pytest.param("```sh\n[b](c)\n```\n[b](c)", "```sh\n[b](c)\n```\n[b](<c>)", id="a block of code"),
        pytest.param("[b](gone)", "b", id="one that leads nowhere"),
    ],
)
def test_links_are_led(text: str, expected: str) -> None:
    assert led(text, lambda to, image: None if to == "gone" else f"!{to}" if image else f"<{to}>") == expected


@pytest.mark.parametrize(
    "found", [each for each in pages() if each.path.name == "README.md"], ids=lambda found: found.name
)
def test_descriptions_of_packages_lead_into_the_repository_at_the_tag(found: Page) -> None:
    home = "https://example.com/team/vsched"
    text = absolute(found.path.read_text(encoding="utf-8"), str(found.folder.relative_to(TOP)), home, "v1")
    targets = list[str]()
    led(text.replace("https://", ""), lambda to, image: targets.append(to) or to)
    inside = [to.partition("#")[0] for to in targets if to.startswith("example.com/team/vsched/")]
    assert len(inside) >= len([link for link in found.links if "://" not in link])
    missing = {to for to in inside if not (TOP / to.split("/", 5)[5]).exists()}
    assert missing == set()
