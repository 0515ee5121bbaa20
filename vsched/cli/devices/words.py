"""What ``vsched devices`` says."""

from __future__ import annotations

# -- the page ----------------------------------------------------------------------------------------------------------

NO_DEVICES = "no node has devices"


def no_such_node(file: object, name: str) -> str:
    return f"{file}: it has no node {name!r}"


NO_DEVICES_ON_THESE = "these nodes have no devices"


def first_nodes(shown: int, total: int) -> str:
    return f"the first {shown} of {total} nodes; name others to see them"


WITHOUT_A_JOB = "pods without a job"


def job_in_queue(job: str, queue: str) -> str:
    return f"{job} in queue {queue}"


def held_of_counted(held: int, total: int) -> str:
    return f"{held} of {total} held of counted devices"
