"""Kubernetes' own Workloads, PodGroups and CompositePodGroups (``scheduling.k8s.io``): the kinds, and their defaults.

A cluster serves them only when asked to, as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.apimachinery.meta.kinds import ALL_VERBS, Kind, KindRegistry, Obj, Subresource
from vsched.errors import BadInput

GROUP = "scheduling.k8s.io"
VERSIONS = ("v1beta1", "v1alpha2")
"""The best one first; it is stored, and the other one converts."""
PROTECTION = f"{GROUP}/podgroup-protection"
_STATUS = (Subresource("status", "", ("get", "patch", "update")),)
_KINDS: Mapping[str, tuple[tuple[str, str, bool], ...]] = {
    "v1beta1": (
        ("Workload", "workloads", False),
        ("PodGroup", "podgroups", True),
        ("CompositePodGroup", "compositepodgroups", True),
    ),
    "v1alpha2": (("Workload", "workloads", False), ("PodGroup", "podgroups", True)),
}
"""By version: kind, plural and whether there is a status."""


def served_versions(runtime_config: str) -> tuple[str, ...]:
    """The versions that a flag names, as ``--runtime-config`` of kube-apiserver does; raises BadInput."""
    found: list[str] = []
    for part in filter(None, (one.strip() for one in runtime_config.split(","))):
        name, _, value = part.partition("=")
        group, _, version = name.partition("/")
        if group != GROUP or version not in VERSIONS or value not in ("", "true", "false"):
            expected = " or ".join(f"{GROUP}/{each}=true" for each in VERSIONS)
            raise BadInput(f"--runtime-config: {part!r} (expected {expected})")
        if value != "false":
            found.append(version)
    return tuple(version for version in VERSIONS if version in found)


def serve(registry: KindRegistry, versions: Iterable[str]) -> None:
    """Serve these versions."""
    for number, version in enumerate(versions):
        for kind, plural, has_status in _KINDS[version]:
            subresources = tuple(Subresource(each.name, kind, each.verbs) for each in _STATUS) if has_status else ()
            registry.add(
                Kind(
                    group=GROUP,
                    version=version,
                    kind=kind,
                    plural=plural,
                    singular=kind.lower(),
                    namespaced=True,
                    storage=f"{GROUP}/{plural}",
                    subresources=subresources,
                    verbs=ALL_VERBS,
                    counts_generation=True,
                    stored=not number,
                )
            )


def default_group(obj: Obj) -> Obj:
    """A PodGroup or a CompositePodGroup: its pods are evicted one by one unless it says otherwise."""
    return {**obj, "spec": _with_mode(obj.get("spec") or {}, obj["apiVersion"])}


def default_workload(obj: Obj) -> Obj:
    """A Workload: its templates get what groups get."""
    return {**obj, "spec": _with_modes(obj.get("spec") or {}, obj["apiVersion"])}


def _with_mode(spec: Obj, api_version: str) -> Obj:
    mode: object = "Pod" if api_version.endswith("/v1alpha2") else {"single": {}}
    return {"disruptionMode": mode, **spec}


def _with_modes(spec: Obj, api_version: str) -> Obj:
    filled = dict(spec)
    for field in ("podGroupTemplates", "compositePodGroupTemplates"):
        if spec.get(field):
            filled[field] = [_with_modes(_with_mode(each, api_version), api_version) for each in spec[field]]
    return filled
