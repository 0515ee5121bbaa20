"""Releases of the chart in the embedded cluster, made by Helm, and what is looked at there."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.charts import CHART, NAMESPACE, RELEASE, Obj, helm
from vsched.sim.cluster import Cluster

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions"
HOOKS = "admissionregistration.k8s.io/validatingwebhookconfigurations"


class Released:
    """A release of the chart in a cluster, by Helm."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        path = folder / "kubeconfig"
        cluster.write_kubeconfig(path)
        self._config = helm.Config(kubeconfig_path=path, namespace=NAMESPACE)

    async def install(self, values: Obj) -> Mapping[str, Any]:
        return await asyncio.to_thread(
            self._config.install, CHART, RELEASE, values, namespace=NAMESPACE, create_namespace=True
        )

    async def upgrade(self, values: Obj) -> Mapping[str, Any]:
        return await asyncio.to_thread(self._config.upgrade, CHART, RELEASE, values)

    async def rollback(self, revision: int) -> None:
        await asyncio.to_thread(self._config.rollback, RELEASE, version=revision)

    async def test(self) -> None:
        """``helm test``; raises HelmError where a pod of it fails."""
        await asyncio.to_thread(self._config.test, RELEASE, timeout=60)

    async def uninstall(self) -> None:
        await asyncio.to_thread(self._config.uninstall, RELEASE)


def secret_of(cluster: Cluster, name: str = "vsched-tls") -> dict[str, bytes]:
    found = cluster.client.get("secrets", NAMESPACE, name)
    assert found is not None
    return {name: base64.b64decode(value) for name, value in found["data"].items()}


def found(cluster: Cluster, resource: str, name: str, where: str = "") -> Obj | None:
    return cluster.client.get(resource, where, name)


def there(cluster: Cluster, resource: str, name: str, where: str = "") -> Obj:
    obj = found(cluster, resource, name, where)
    assert obj is not None, f"{resource} {name}"
    return obj
