"""Sessions that decide and come to nothing: a pod is bound again and again, or pods are evicted and none is placed.

A binding is decided once: the mirror takes it for granted until the watch shows it, and only a failure makes it be
decided anew. Evictions make room, and room is used within seconds of the last victim's leaving.
"""

from __future__ import annotations

from cachetools import LRUCache

from vsched.model.plan import Bind, CycleReport

TRIES = 5
"""Decisions to bind one pod after which it looks wrong; failed ones are up to 30 s apart."""
EVICTING_SECONDS = 180.0
"""So long may sessions evict and place nobody: far longer than pods usually take to end."""
EVICTING_SESSIONS = 5
MOST_PODS = 10_000
"""Pods whose bindings are counted at once; of more the one that was decided about longest ago is forgotten."""


class Stalling:
    """Looks at what sessions decide, one after another."""

    def __init__(self, most_tries: int = TRIES) -> None:
        self._most_tries = most_tries
        self._tries: LRUCache[str, int] = LRUCache(MOST_PODS)
        """Decisions to bind a pod, by its uid."""
        self._evicting_since: float | None = None
        """When the first session was that evicted since one placed anybody, on a steady clock."""
        self._evicting = 0
        """How many of them there were."""

    def see(self, report: CycleReport, now: float) -> str:
        """What looks wrong after this session, in a sentence; empty where nothing does."""
        stuck = [bind for bind in report.binds if self._tried(bind)]
        if report.binds:
            self._evicting_since, self._evicting = None, 0
        elif report.evictions:
            self._evicting_since = now if self._evicting_since is None else self._evicting_since
            self._evicting += 1
        if stuck:
            return f"pod {stuck[0].namespace}/{stuck[0].name} was to be bound {self._most_tries} times, and is not"
        if self._evicting_since is None or self._evicting < EVICTING_SESSIONS:
            return ""
        seconds = now - self._evicting_since
        if seconds < EVICTING_SECONDS:
            return ""
        sessions, self._evicting_since, self._evicting = self._evicting, None, 0
        return f"{sessions} sessions evicted pods within {seconds:.0f} s, and none was placed"

    def _tried(self, bind: Bind) -> bool:
        """Count a decision; whether there were so many that it looks wrong, from when on they are counted anew."""
        tries = self._tries.get(bind.uid, 0) + 1
        if tries >= self._most_tries:
            self._tries.pop(bind.uid, None)
            return True
        self._tries[bind.uid] = tries
        return False
