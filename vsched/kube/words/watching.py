"""What is said of lists and watches of the API server."""

from __future__ import annotations


def line_is_longer(most: int) -> str:
    return f"a line of the watch is longer than {most} bytes"


def not_a_list(why: str) -> str:
    return f"answered with something that is not a list: {why}"


NO_VERSION = "answered with a list that has no resourceVersion"


def not_served(resource: str) -> str:
    return f"the API server serves no {resource}"


ENDED_EARLY = "ended the watch before the list was complete"


def restored(where: str, found: str, known: str) -> str:
    return (
        f"{where}: the server is at version {found} and was at {known} before: it was restored from a "
        "backup, and is listed again"
    )


def was_away(seconds: float) -> str:
    return f"the server was away for {seconds:.0f} s, and is listed again"


def no_event(why: str) -> str:
    return f"sent a line that is not a watch event: {why}"


def unknown_event(kind: str) -> str:
    return f"sent a watch event of the unknown type {kind!r}"


NO_STATUS = "sent an ERROR event without a Status"
BOOKMARK_EARLY = "sent a bookmark before the list was complete"
