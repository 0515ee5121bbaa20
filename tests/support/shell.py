"""Commands as people type them, with the real kubectl and our own vsched on the path."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from vsched.sim.cluster import Cluster


async def shell(cluster: Cluster, folder: Path, command: str, seconds: float = 60.0) -> str:
    """What the command prints on both outputs at this cluster; every line of it must end well."""
    config = folder / "kubeconfig"
    cluster.write_kubeconfig(config)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    surroundings = {"PATH": path, "HOME": str(folder), "KUBECONFIG": str(config), "GOGC": "off"}
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-e",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=surroundings,
    )
    try:
        printed, _ = await asyncio.wait_for(process.communicate(command.encode()), seconds)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    text = printed.decode()
    assert process.returncode == 0, f"{command}\n{text}"
    return text
