"""Asks an extender again and again, from a process of its own: URL, how often, how many node names.

Every other pod is of namespace ``full``, which may hold no more. Prints JSON: how many answers were right, the first
that were not, and how long they took, in milliseconds.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from urllib.parse import urlsplit


def body(namespace: str, number: int, names: list[str]) -> bytes:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    metadata = {"name": f"p-{number}", "namespace": namespace, "uid": f"{namespace}-{number}", "labels": {"app": "x"}}
    spec = {"containers": [container] * 2, "schedulerName": "default-scheduler", "tolerations": [{"key": "k"}]}
    return json.dumps({"Pod": {"metadata": metadata, "spec": spec}, "Nodes": None, "NodeNames": names}).encode()


def is_right(answer: dict[str, object], namespace: str, names: list[str]) -> bool:
    failed = answer["FailedNodes"]
    if namespace == "full":
        return answer["NodeNames"] == [] and isinstance(failed, dict) and list(failed) == names
    return answer["NodeNames"] == names and failed == {}


def main(url: str, count: int, nodes: int) -> None:
    target = urlsplit(url)
    names = [f"ip-10-0-{number // 256}-{number % 256}.eu-west-1.compute.internal" for number in range(nodes)]
    connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=30)
    right, wrong = 0, []
    taken: dict[str, list[float]] = {"idle": [], "full": []}
    for number in range(count):
        namespace = ("idle", "full")[number % 2]
        data = body(namespace, number, names)
        began = time.perf_counter()
        connection.request("POST", target.path, data, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        taken[namespace].append(1000 * (time.perf_counter() - began))
        if response.status == 200 and is_right(json.loads(text), namespace, names):
            right += 1
        else:
            wrong.append(text[:200].decode(errors="replace"))
    figures = {which: [sorted(times)[int(len(times) * part)] for part in (0.5, 0.99)] for which, times in taken.items()}
    print(json.dumps({"right": right, "wrong": wrong[:3], "ms": figures}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
