"""What is said of gangs whose pods were found through their owners."""

from __future__ import annotations

from vsched.model.jobs.job import JobSpec


def found_by(spec: JobSpec) -> str:
    """By which owner a gang was found, and how many of its pods start together; empty for other jobs."""
    if not spec.gang:
        return ""
    roles = ", ".join(f"{minimum} {role}" for role, minimum in spec.min_task_member)
    together = f"{spec.min_member} start together" if spec.min_member > 1 else "each starts by itself"
    return f"its pods were found by their owner {spec.gang}: {together}{f' ({roles})' if roles else ''}"
