"""Reports an unexpected error over one object, while work on all others goes on."""

from __future__ import annotations

import asyncio
from types import TracebackType

from vsched.errors import VschedError, why_unreadable


def report(what: str, error: Exception) -> str:
    """Report an error that nobody expected; ``what`` says what it means for the object. Returns it as one line."""
    why = why_unreadable(error)
    context: dict[str, object] = {"message": f"{what}: {why}"}
    if not isinstance(error, VschedError):
        context["exception"] = error
    asyncio.get_running_loop().call_exception_handler(context)
    return why


class Unexpected:
    """A block of work on one object: an error in it is reported, and does not go further.

    Reports go through the event loop's exception handler; errors that are not vsched's own come with a traceback.
    Being cancelled is no error: it goes further.
    """

    def __init__(self, what: str) -> None:
        """``what`` says what an error means for the object."""
        self._what = what
        self.why = ""
        """The error as one line; empty where there was none."""

    def __enter__(self) -> Unexpected:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.why = report(self._what, error)
        return True
