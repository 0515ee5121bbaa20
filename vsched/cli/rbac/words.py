"""What ``vsched rbac --check`` says."""

from __future__ import annotations

from vsched.daemon.permissions.needs import Right


def is_missing(right: Right, why: str) -> str:
    resource = f"{right.resource}.{right.group}" if right.group else right.resource
    name = f" {right.name}" if right.name else ""
    where = f" in namespace {right.namespace}" if right.namespace else ""
    return f"missing: {right.verb} {resource}{name}{where}: {why}"


def some_missing(missing: int, needed: int) -> str:
    return f"{missing} of {needed} rights are missing (vsched rbac prints the roles)"


def none_missing(needed: int) -> str:
    return f"all {needed} rights are there"
