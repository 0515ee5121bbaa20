"""Temporary: stands in for modules of this package that are still being written."""

# mypy: ignore-errors
# ruff: noqa
from __future__ import annotations
import jsonpatch as _jp


def _merge(obj, patch):
    out = dict(obj)
    for k, v in patch.items():
        if v is None:
            out.pop(k, None)
        elif isinstance(v, dict):
            out[k] = _merge(out.get(k) if isinstance(out.get(k), dict) else {}, v)
        else:
            out[k] = v
    return out


class patches:
    merge_patch = staticmethod(_merge)
    json_patch = staticmethod(lambda obj, patch: _jp.apply_patch(obj, patch))
    strategic_merge = staticmethod(lambda kind, obj, patch: _merge(obj, patch))
    apply = staticmethod(lambda kind, obj, applied, manager, force: _merge(obj or {}, applied))


class tables:
    @staticmethod
    def table(kind, items, include, now, with_columns=True):
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "columnDefinitions": [
                {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
            ]
            if with_columns
            else None,
            "rows": [{"cells": [o["metadata"].get("name", "")], "object": tables.partial(o)} for o in items],
        }

    @staticmethod
    def partial(o):
        return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}


class protobuf:
    is_protobuf = staticmethod(lambda media: media == "application/vnd.kubernetes.protobuf")

    @staticmethod
    def decode(body):
        raise NotImplementedError


class discovery:
    @staticmethod
    def resources(registry, group, version):
        rows = []
        for k in registry:
            if k.group == group and k.version == version:
                rows.append(
                    {
                        "name": k.plural,
                        "singularName": k.singular,
                        "namespaced": k.namespaced,
                        "kind": k.kind,
                        "verbs": list(k.verbs),
                        "shortNames": list(k.short_names),
                        "categories": list(k.categories),
                    }
                )
                for s in k.subresources:
                    row = {
                        "name": f"{k.plural}/{s.name}",
                        "singularName": "",
                        "namespaced": k.namespaced,
                        "kind": s.kind,
                        "verbs": list(s.verbs),
                    }
                    if s.group:
                        row |= {"group": s.group, "version": s.version}
                    rows.append(row)
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": rows,
        }

    @staticmethod
    def group(registry, g):
        vs = [{"groupVersion": f"{g}/{v}", "version": v} for v in registry.versions(g)]
        return {"name": g, "versions": vs, "preferredVersion": vs[0]}
