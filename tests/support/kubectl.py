"""The real kubectl at an embedded cluster."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import aiohttp

KUBECTL = shutil.which("kubectl") or ""


@dataclass(slots=True)
class Kubectl:
    """kubectl with a kubeconfig and a cache of its own."""

    folder: Path

    async def __call__(self, *arguments: str, given: str = "", code: int = 0, seconds: float = 60.0) -> str:
        """What a command prints on both outputs; its exit code must be the expected one."""
        process = await self.started(*arguments)
        try:
            printed, _ = await asyncio.wait_for(process.communicate(given.encode()), seconds)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
        text = printed.decode()
        assert process.returncode == code, text
        return text

    async def started(self, *arguments: str) -> asyncio.subprocess.Process:
        flags = (f"--kubeconfig={self.folder / 'config'}", f"--cache-dir={self.folder / 'cache'}")
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            KUBECTL, *flags, *arguments, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT
        )


async def bind_everything(url: str) -> None:
    """Puts each unbound pod on a node that takes pods, one node after the other."""
    async with (
        aiohttp.ClientSession(url) as session,
        session.get("/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D") as watch,
    ):
        turn = 0
        async for line in watch.content:
            event = json.loads(line)
            if event["type"] != "ADDED":
                continue
            metadata = event["object"]["metadata"]
            async with session.get("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse") as reply:
                nodes = [item["metadata"]["name"] for item in (await reply.json())["items"]]
            turn += 1
            body = {"metadata": {"name": metadata["name"]}, "target": {"name": nodes[turn % len(nodes)]}}
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
            async with session.post(path, json=body) as bound:
                await bound.read()
