"""What ``vsched dump`` says."""

from __future__ import annotations

# -- flags, and recordings ---------------------------------------------------------------------------------------------

LIST_WRITES_NOTHING = "--list: nothing is written (expected no --out, --anonymous or --recording with it)"
NOT_TO_A_TERMINAL = "-O -: a terminal cannot show it (expected a file, or a program after |)"
NEXT_SESSION = "its next session"
WHAT_WAS_SENT = "what the daemon sent"


def exists_already(path: object) -> str:
    return f"{path}: exists already (-O {path} overwrites it)"


NOTHING_LOOKED_WRONG = "nothing looked wrong"
