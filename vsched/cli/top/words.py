"""What ``vsched top`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------

ONCE_AND_SECONDS = "--once and --seconds exclude each other"


# -- jobs that wait ----------------------------------------------------------------------------------------------------

NOT_TRIED_YET = "not tried yet"


# -- the screen --------------------------------------------------------------------------------------------------------


def nothing_new(since: str, problem: str) -> str:
    return f"nothing new for {since}: {problem}"


def nothing_changed(span: str) -> str:
    return f"nothing changed for {span}"


NO_POLICY_YET = "no policy yet"


def edit_rejected(generation: int, since: str, why: str) -> str:
    return f"policy {generation} stays, an edit was rejected{since}: {why}"


def keys(tabs: str) -> str:
    return f"{tabs}   tab next, arrows and page keys scroll, q quits"
