"""The overview as a document: rows by name, amounts as quantities, times as the API writes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from vsched.cli.usage.nodes import as_document as node_document
from vsched.kube.times import time_stamp
from vsched.model.amounts.resources import format_amount
from vsched.web.overview.document import JobRow, NamespaceRow, Overview, QueueRow, SessionRow

Document = dict[str, Any]


def as_document(overview: Overview) -> Document:
    """The document; null for what is not known."""
    return {
        "at": time_stamp(overview.at),
        "version": overview.version,
        "role": overview.role,
        "counts": dict(overview.counts),
        "resources": {
            resource.name: {
                "total": format_amount(resource.name, resource.total),
                "held": format_amount(resource.name, resource.held),
            }
            for resource in overview.resources
        },
        "queues": {name: _queue(overview, row) for name, row in sorted(overview.queues.items())},
        "namespaces": {key: _namespace(overview, row) for key, row in sorted(overview.namespaces.items())},
        "nodes": {name: node_document(overview, row) for name, row in sorted(overview.nodes.items())},
        "jobs": [_job(overview, row) for row in in_order(overview.jobs.values())],
        "sessions": [_session(row) for row in overview.sessions],
        "policy": None if overview.policy is None else msgspec.to_builtins(overview.policy),
    }


def in_order(rows: Iterable[JobRow]) -> list[JobRow]:
    """Waiting jobs by queue and position, then waiting jobs without a position, then the others."""
    return sorted(rows, key=lambda row: (row.position is None, not row.waits, row.queue, row.position or 0, row.key))


def _queue(overview: Overview, row: QueueRow) -> Document:
    return {
        "parent": row.parent,
        "state": row.state,
        "weight": row.weight,
        "priority": row.priority,
        "share": None if all(amount is None for amount in row.deserved) else round(row.share, 6),
        "overused": row.overused,
        "allocated": _amounts(overview, row.allocated),
        "deserved": _amounts(overview, row.deserved),
        "guarantee": _amounts(overview, row.guarantee),
        "capability": _amounts(overview, row.capability),
        "jobs": row.jobs,
        "waiting": row.waiting,
        "problem": row.problem,
    }


def _namespace(overview: Overview, row: NamespaceRow) -> Document:
    return {
        "queue": row.queue,
        "namespace": row.namespace,
        "weight": row.weight,
        "share": round(row.share, 6),
        "allocated": _amounts(overview, row.allocated),
        "deserved": _amounts(overview, row.deserved),
        "waiting": row.waiting,
    }


def _job(overview: Overview, row: JobRow) -> Document:
    return {
        "job": row.key,
        "queue": row.queue,
        "phase": row.phase,
        "priority": row.priority,
        "minMember": row.min_member,
        "ready": row.ready,
        "pending": row.pending,
        "running": row.running,
        "created": time_stamp(row.created),
        "position": row.position,
        "reason": row.reason,
        "message": row.message,
        "request": _amounts(overview, row.request),
    }


def _session(row: SessionRow) -> Document:
    fields = {field: getattr(row, field) for field in row.__struct_fields__}
    return fields | {"at": time_stamp(row.at)}


def _amounts(overview: Overview, values: Sequence[int | None]) -> dict[str, str]:
    """Quantities by resource; zero and unknown amounts are left out."""
    pairs = zip(overview.resources, values, strict=True)
    return {resource.name: format_amount(resource.name, value) for resource, value in pairs if value}
