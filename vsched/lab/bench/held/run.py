"""The further parts of ``vsched bench-restart --held``: pages are asked for, and the policy is edited."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vsched.errors import Unavailable
from vsched.kube.client import ApiClient
from vsched.lab.bench.held import metered
from vsched.lab.bench.held.phases import Phases, read_notes
from vsched.lab.bench.observer import counter
from vsched.settings.load import default_text

EDIT = "    arguments: {binpack.weight: 2}\n"
"""Behind the built-in policy, whose last plugin is binpack."""
PAGES = ("/metrics", "/queues", "/jobs", "/nodes", "/overview", "/dump")
PAUSE_SECONDS = 0.5
"""After each request and each edit: what follows from it belongs to the same part."""
RELOAD_SECONDS = 60.0


class HeldRun:
    """A daemon whose event loop is measured, and the parts of its run."""

    def __init__(self, directory: Path) -> None:
        self.phases = Phases()
        self.module = metered.__name__
        self._notes = directory / "notes"
        self._policy = directory / "policy.yaml"
        self._policy.write_text(default_text(), encoding="utf-8")

    @property
    def arguments(self) -> tuple[str, ...]:
        """Further ones of the daemon."""
        return ("--scheduler-conf", str(self._policy))

    @property
    def environment(self) -> Mapping[str, str]:
        """The daemon's."""
        return {**os.environ, metered.VARIABLE: str(self._notes)}

    async def further(self, daemon: ApiClient) -> None:
        """Ask for pages, and edit the policy."""
        for page in PAGES:
            self.phases.begin(page)
            await daemon.request("GET", page, attempts=1)
            await asyncio.sleep(PAUSE_SECONDS)
        before = await counter(daemon, "vsched_policy_reloads_total", "result")
        self.phases.begin("policy")
        self._policy.write_text(default_text() + EDIT, encoding="utf-8")
        try:
            async with asyncio.timeout(RELOAD_SECONDS):
                while True:
                    if await counter(daemon, "vsched_policy_reloads_total", "result") != before:
                        break
                    await asyncio.sleep(PAUSE_SECONDS)
        except TimeoutError:
            raise Unavailable(f"the daemon did not read its policy within {RELOAD_SECONDS:.0f} s") from None
        await asyncio.sleep(PAUSE_SECONDS)

    def held(self) -> dict[str, Any]:
        """What took long in each part."""
        return self.phases.held(read_notes(self._notes))
