"""Links of pages, read in Markdown and led elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable

LINK = re.compile(
    r"""
    (?P<code>^```.*?^```|`[^`\n]+`)                           # nothing in code is a link
    | (?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


def led(text: str, to: Callable[[str, bool], str | None]) -> str:
    """A page whose links lead to what ``to`` answers for their target, and whether it is a picture.

    Targets with a scheme stay. Where the answer is None, the words stay, without a link.
    """

    def replaced(found: re.Match[str]) -> str:
        if found["code"] or "://" in found["target"]:
            return found[0]
        target = to(found["target"], bool(found["image"]))
        return found["text"] if target is None else f"{found['image']}[{found['text']}]({target})"

    return LINK.sub(replaced, text)
