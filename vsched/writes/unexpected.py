"""What becomes of an error that nobody expected over one object: it is told, and everything else goes on."""

from __future__ import annotations

import asyncio

from vsched.errors import VschedError, why_unreadable


def tell(error: Exception, what: str) -> None:
    """Have the event loop tell of an error: a line where it is one of ours, else with where it came from."""
    context: dict[str, object] = {"message": f"{what}: {why_unreadable(error)}"}
    if not isinstance(error, VschedError):
        context["exception"] = error
    asyncio.get_running_loop().call_exception_handler(context)
