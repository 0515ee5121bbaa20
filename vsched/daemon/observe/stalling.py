"""Finds sessions without progress: a pod is bound again and again, or pods are evicted and none is placed.

Normally a binding is decided once: the mirror assumes it until the watch shows it, and only a failure makes it be
decided again. Room that evictions make is used within seconds after the last victim has left.
"""

from __future__ import annotations

from itertools import islice

from vsched.daemon.words import states as words
from vsched.model.plan import Bind, CycleReport

TRIES = 5
"""So many decisions to bind one pod look wrong; failed ones are up to 30 s apart."""
EVICTING_SECONDS = 180.0
"""Sessions may evict without placing a pod for so long; pods usually take much less time to end."""
EVICTING_SESSIONS = 5
MOST_PODS = 10_000
"""How many pods are counted; beyond that the least recent one is forgotten."""


class Stalling:
    """Checks the decisions of one session after another."""

    def __init__(self, most_tries: int = TRIES) -> None:
        self._most_tries = most_tries
        self._tries: dict[str, int] = {}
        """Decisions to bind a pod, by its uid; the least recent ones come first."""
        self._evicting_since: float | None = None
        """Monotonic time of the first evicting session since one placed a pod."""
        self._evicting = 0
        """How many sessions have evicted since then."""

    def see(self, report: CycleReport, now: float) -> str:
        """What looks wrong after this session, as a sentence; empty if nothing does."""
        stuck = [bind for bind in report.binds if self._tried(bind)]
        for uid in list(islice(self._tries, max(0, len(self._tries) - MOST_PODS))):
            del self._tries[uid]
        if report.binds:
            self._evicting_since, self._evicting = None, 0
        elif report.evictions:
            self._evicting_since = now if self._evicting_since is None else self._evicting_since
            self._evicting += 1
        if stuck:
            return words.not_bound(stuck[0].namespace, stuck[0].name, self._most_tries)
        if self._evicting_since is None or self._evicting < EVICTING_SESSIONS:
            return ""
        seconds = now - self._evicting_since
        if seconds < EVICTING_SECONDS:
            return ""
        sessions, self._evicting_since, self._evicting = self._evicting, None, 0
        return words.evicting_for_nothing(sessions, seconds)

    def _tried(self, bind: Bind) -> bool:
        """Count a decision; True at ``TRIES``, after which counting starts again."""
        tries = self._tries.pop(bind.uid, 0) + 1
        if tries >= self._most_tries:
            return True
        self._tries[bind.uid] = tries
        return False
