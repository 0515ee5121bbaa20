"""The explanation that the guide shows is what is said of a cluster like this one."""

from __future__ import annotations

from rich.console import Console

from tests.support.pages import page
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.cli.explain.view import as_page
from vsched.cli.show.drawing import look_for
from vsched.explain.explaining import explain
from vsched.framework.cycle import run_cycle
from vsched.settings.built_in import REGISTRY

CLUSTER = """
    node n1 cpu=4 node.kubernetes.io/instance-type=small
    node n2 cpu=8 taint=gpu:yes node.kubernetes.io/instance-type=large
    job team/before min=1 pods=1 cpu=8
    job team/train min=3 pods=3 cpu=3
"""
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "1", "controller": True}


def test_the_explanation_is_the_one_that_is_shown() -> None:
    objects = manifests(CLUSTER)
    for found in objects:
        if found["kind"] == "Pod" and found["metadata"]["name"].startswith("train"):
            found["metadata"]["ownerReferences"] = [JOB]
    snapshot = mirror(objects).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    explanation = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "team", "train", kind="")
    console = Console(width=120, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(as_page(explanation, look_for(120, wide=False, unicode=False)))
    (shown,) = [one.text for one in page("vsched/explain/README.md").blocks if one.text.startswith("$ vsched explain")]
    assert shown.splitlines()[1:] == [line.rstrip() for line in capture.get().rstrip().splitlines()]
