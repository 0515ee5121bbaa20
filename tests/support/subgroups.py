"""Jobs with sub-groups straight in the model, in a few letters."""

from __future__ import annotations

from tests.support.small import SmallCluster
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.topology.constraints import SubGroupPolicy

LETTERS = {
    "p": Status.PENDING,
    "w": Status.PIPELINED,
    "r": Status.RUNNING,
    "l": Status.RELEASING,
    "s": Status.SUCCEEDED,
}


def workers(size: int, minimum: int) -> SubGroupPolicy:
    return SubGroupPolicy("w", size, minimum, match_keys=("rack",))


def job_of(text: str, *policies: SubGroupPolicy, min_member: int = 0, roles: tuple[tuple[str, int], ...] = ()) -> Job:
    """A job of sub-groups ``rack:letters``; each letter is a pod and its status. Pods of rack ``-`` have no label."""
    cluster = SmallCluster().node("n1")
    job = cluster.job("j", 0, min_member=min_member, min_task_member=roles, sub_groups=policies)
    for word in text.split():
        rack, _, letters = word.partition(":")
        for number, letter in enumerate(letters):
            labels = {} if rack == "-" else {"rack": rack}
            status = LETTERS[letter]
            node = "" if status in (Status.PENDING, Status.PIPELINED) else "n1"
            cluster.task(job, f"{rack}{number}", cluster.shape(), status, node, labelled=labels, role=rack)
    return job
