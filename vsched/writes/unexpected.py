"""Reports an unexpected error over one object, while work on all others goes on."""

from __future__ import annotations

import asyncio

from vsched.errors import VschedError, why_unreadable


def report_unexpected(error: Exception, what: str) -> None:
    """Report through the event loop's exception handler; errors that are not vsched's own come with a traceback."""
    context: dict[str, object] = {"message": f"{what}: {why_unreadable(error)}"}
    if not isinstance(error, VschedError):
        context["exception"] = error
    asyncio.get_running_loop().call_exception_handler(context)
