"""What the checker says of decisions that a test makes up, on clusters in the language of ``tests.support.plans``."""

from __future__ import annotations

from tests.support.plans import NOW, manifests, mirror
from vsched.framework.policy import Policy
from vsched.model.plan import Bind, CycleReport, Evict, Nominate
from vsched.model.pods.task import Task
from vsched.proof.verify import verify
from vsched.settings.proving import facts_of


def said(text: str, decisions: str, policy: Policy) -> dict[str, list[str]]:
    """Violations by rule, of decisions one a line.

    ``bind a.0 n1``, ``keep a.0 n1`` (room for a pod that waits), ``evict b.0 preempt ns/a`` (for that job), ``move b.0
    n2 ns/a`` (to that node).
    """
    snapshot = mirror(manifests(text)).snapshot(NOW)
    tasks: dict[str, Task] = {
        task.name: task for job in snapshot.jobs.values() for task in job.tasks.values() if task.job
    }
    binds, evictions, nominations = list[Bind](), list[Evict](), list[Nominate]()
    for line in decisions.splitlines():
        match line.split():
            case ["bind", pod, node]:
                task = tasks[pod]
                binds.append(Bind(task.uid, task.namespace, pod, node, task.job))
            case ["keep", pod, node]:
                task = tasks[pod]
                nominations.append(Nominate(task.uid, task.namespace, pod, node, task.job))
            case ["evict", pod, action, job]:
                task = tasks[pod]
                evictions.append(Evict(task.uid, task.namespace, pod, task.node, task.job, action, job))
            case ["move", pod, node, job]:
                task = tasks[pod]
                about = task.uid, task.namespace, pod, task.node, task.job, "consolidate", job
                evictions.append(Evict(*about, to=node))
            case []:
                pass
            case _:
                raise AssertionError(line)
    report = CycleReport(tuple(binds), tuple(evictions), tuple(nominations))
    return {
        finding.rule: list(finding.violations)
        for finding in verify(snapshot, facts_of(policy), report)
        if finding.violations
    }
