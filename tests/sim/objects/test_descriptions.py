"""What the definitions say of their fields, for ``kubectl explain`` and the reference."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from vsched.apimachinery.objects.crds import shipped_definitions
from vsched.sim.cluster import Cluster, ClusterSettings

pytestmark = pytest.mark.real_time

Obj = dict[str, Any]
OF_EVERY_OBJECT = {"apiVersion", "kind", "metadata"}
"""API servers describe these themselves."""
MOST_BYTES = 20_000
"""Far less than the 1.5 MiB that etcd takes, and than the 256 KiB that ``kubectl apply`` keeps in an annotation."""
FOUND = {each["metadata"]["name"]: each for each in shipped_definitions()}
SCHEMAS = {
    f"{name} {version['name']}": version["schema"]["openAPIV3Schema"]
    for name, each in FOUND.items()
    for version in each["spec"]["versions"]
    if version["served"]
}


def fields(schema: Obj, path: str = "") -> Iterator[tuple[str, Obj]]:
    """Every field below a schema, by its path."""
    for name, field in schema.get("properties", {}).items():
        at = f"{path}.{name}" if path else name
        yield at, field
        yield from fields(field, at)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if key in schema:
            yield from fields(schema[key], f"{path}{mark}")


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_every_field_is_described_in_sentences(schema: Obj) -> None:
    told = {path: field.get("description", "") for path, field in fields(schema) if path not in OF_EVERY_OBJECT}
    assert len(told) > 5
    assert [path for path, text in told.items() if not re.fullmatch(r"\S.*[.]", text)] == []
    # Not the name again: "lastScheduleTime: Last schedule time."
    same = [path for path, text in told.items() if re.sub(r"\W", "", text).lower() == path.rpartition(".")[2].lower()]
    assert [path for path in same if not path.endswith((".phase", ".status", ".state"))] == []
    assert schema["description"].endswith(".")


@pytest.mark.parametrize("name", FOUND)
def test_a_definition_stays_small(name: str) -> None:
    assert len(str(FOUND[name])) < MOST_BYTES


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on the PATH")
async def test_kubectl_explains_them(tmp_path: Path) -> None:
    async with Cluster(0, settings=ClusterSettings(controllers=None)) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        for path, said in {
            "podgroups.scheduling.volcano.sh.spec": "minMember <integer> Pods that start together or not at all",
            "queues.spec.guarantee.resource": "kept free for the queue even while it does not ask for them",
            "vcjob.spec.tasks.partitionPolicy.networkTopology.mode": "soft: as close together as possible",
            "cronvcjob.spec.jobTemplate.spec.tasks.policies.timeout": "How long the event must last",
            "consumers.spec.hard": "What is not named has no limit.",
        }.items():
            assert said in " ".join((await kubectl("explain", path)).split()), path


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on the PATH")
async def test_kubectl_applies_the_files_as_they_are(tmp_path: Path) -> None:
    folder = Path(__file__).parents[3] / "vsched" / "apimachinery" / "objects" / "definitions"
    async with Cluster(0, settings=ClusterSettings(controllers=None)) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        applied = await kubectl("apply", "--server-side", "-f", str(folder))
        assert applied.count("serverside-applied") == len(FOUND)
        # Anchors and merges mean to kubectl what they mean here.
        assert (await kubectl("diff", "--server-side", "-f", str(folder))) == ""
