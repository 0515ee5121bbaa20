"""A plan of pods and nodes loads neither the HTTP client nor the embedded cluster: imports are most of its time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.running import node, pod

PROGRAM = """
import sys
from vsched.cli import main
try:
    main()
finally:
    print("\\n", [name for name in ("aiohttp", "vsched.kube.client", "vsched.sim.store.store") if name in sys.modules])
"""


def test_a_plan_of_pods_and_nodes_loads_no_client_and_no_cluster(tmp_path: Path) -> None:
    file = tmp_path / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1"), pod("p1")]}))
    line = [sys.executable, "-c", PROGRAM, "plan", "-f", str(file), "--scheduler-name", "vsched", "-o", "json"]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    plan, _, loaded = found.stdout.rstrip().rpartition("\n")
    assert [bind["node"] for bind in json.loads(plan)["cycles"][0]["binds"]] == ["n1"], found.stderr
    assert loaded.strip() == "[]"
