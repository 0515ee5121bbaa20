"""Everything for those who look closer: sights of sessions, and the pages and records made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.clock import Clock
from vsched.daemon.lookout import Lookout
from vsched.daemon.options import Options
from vsched.daemon.tasks import LongLived
from vsched.daemon.telemetry import Telemetry
from vsched.framework.registry import Registry
from vsched.web.routes import Route


class Showing:
    """What a daemon has for people who ask; sessions do not wait for any of it."""

    def __init__(
        self, options: Options, registry: Registry, clock: Clock, telemetry: Telemetry, pull: Callable[[], None]
    ) -> None:
        self.lookout = Lookout(pull)

    @property
    def tasks(self) -> Sequence[LongLived]:
        """What runs for long."""
        return ()

    @property
    def routes(self) -> Sequence[Route]:
        """What is served at ``--listen-address``."""
        return ()
