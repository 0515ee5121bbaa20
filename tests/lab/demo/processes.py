"""The demo as a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path


async def start(tmp_path: Path, *arguments: str) -> Process:
    """Start ``vsched demo`` with five nodes and these arguments."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vsched", "demo", "--nodes", "5", *arguments),
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
