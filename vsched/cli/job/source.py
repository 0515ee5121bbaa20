"""What ``vsched job`` knows of jobs: from a running daemon, or from their objects where none answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from vsched.cli.ask.cluster import on_client
from vsched.cli.ask.daemon import Target, Unknown, ask_daemon, expect_leader, understood
from vsched.cli.queue.source import Obj
from vsched.errors import BadInput, Unavailable, VschedError
from vsched.explain.records import Explanation
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.mirror.resources import PODGROUPS, PODS
from vsched.model.status import Phase
from vsched.sim.store.times import parse_time
from vsched.web.overview.document import JobRow

T = TypeVar("T")

GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""Annotations by which a pod says its PodGroup."""
WITHOUT_DAEMON = "what the PodGroups themselves say is shown, without positions and without counts of what is ready"


class Line(msgspec.Struct, frozen=True):
    """A job as a table shows it; None stands for what nobody knows there."""

    key: str
    queue: str
    phase: str
    min_member: int
    priority: int | str | None = None
    """The name of its class, where nobody looked up what that is worth."""
    ready: int | None = None
    pending: int | None = None
    running: int = 0
    succeeded: int | None = None
    failed: int | None = None
    created: float | None = None
    """Seconds since the epoch."""
    position: int | None = None
    """In the order of its queue; None where it does not wait, or nobody knows the order."""
    reason: str = ""
    """Why it waits, in one word."""
    message: str = ""
    """The same in a sentence."""
    reasons: Mapping[str, int] = {}
    """Nodes by what they have against it."""

    @property
    def waits(self) -> bool:
        """Whether it has not its minimum yet."""
        if self.ready is None:
            return self.phase in (Phase.PENDING, Phase.INQUEUE)
        return self.ready < self.min_member and self.phase != Phase.COMPLETED


class JobView(msgspec.Struct, frozen=True, rename="camel"):
    """A job of ``/jobs``; what a daemon of another version does not say is not known."""

    queue: str
    phase: str
    min_member: int
    priority: int | None = None
    ready: int | None = None
    pending: int | None = None
    running: int = 0
    succeeded: int | None = None
    failed: int | None = None
    created: float | None = None
    position: int | None = None
    code: str = ""
    message: str = ""
    reasons: Mapping[str, int] = {}


class Jobs(msgspec.Struct, frozen=True):
    """All jobs, and who told of them."""

    lines: tuple[Line, ...]
    source: str
    """The address of a daemon, or of an API server."""


class Job(msgspec.Struct, frozen=True):
    """Everything about one job."""

    line: Line
    source: str
    explanation: Explanation | None = None
    """None where no daemon told."""
    conditions: tuple[Mapping[str, str], ...] = ()
    """Of its object; empty where a daemon told, who knows better."""


class Place(msgspec.Struct, frozen=True):
    """Where to look: a daemon, or the objects of a cluster where none answers or none is meant."""

    target: Target
    kubeconfig: Path | None = None
    context: str | None = None

    @property
    def daemon_meant(self) -> bool:
        """Whether a daemon is asked: where only a cluster is named, the one on this machine may be of another."""
        return self.target.named or (self.kubeconfig is None and self.context is None)


def read_jobs(place: Place) -> tuple[Jobs, str]:
    """All jobs, and a remark where something is not known; raises one clear line where nobody tells."""
    return _first(place, jobs_of_daemon, _jobs_of_objects)


def read_job(place: Place, key: str) -> tuple[Job, str]:
    """One job, and a remark where something is not known; raises BadInput where there is none of that name."""
    return _first(place, lambda daemon: _job_of_daemon(daemon, key), lambda client: _job_of_object(client, key))


def _first(
    place: Place,
    from_daemon: Callable[[ApiClient], Awaitable[T]],
    from_objects: Callable[[ApiClient], Coroutine[Any, Any, T]],
) -> tuple[T, str]:
    """What a daemon tells; where nobody named it and it does not, what the objects tell, and why."""
    why = ""
    if place.daemon_meant:
        try:
            return ask_daemon(place.target, from_daemon), ""
        except Unknown:
            raise
        except VschedError as error:
            if place.target.named:
                raise
            why = str(error)
    try:
        found = on_client(place.kubeconfig, place.context, from_objects)
    except Unknown:
        raise
    except BadInput as error:
        # Without a cluster, what is wrong with the daemon is what a person can do something about.
        raise Unavailable(f"{why}; and {error}") if why else error from None
    return found, f"{why}; {WITHOUT_DAEMON}" if why else f"{WITHOUT_DAEMON} (--daemon URL tells them)"


# -- from a daemon


async def jobs_of_daemon(daemon: ApiClient) -> Jobs:
    told = await daemon.get("/jobs")
    if not told:
        await expect_leader(daemon)
    jobs = understood(daemon.connection.server, told, dict[str, JobView])
    return Jobs(tuple(line_of_view(key, found) for key, found in jobs.items()), daemon.connection.server)


async def _job_of_daemon(daemon: ApiClient, key: str) -> Job:
    where = daemon.connection.server
    explanation = understood(where, await daemon.get(f"/explain/{key}", {"kind": "PodGroup"}), Explanation)
    found = (await daemon.get("/jobs")).get(key)
    if found is None:
        raise Unknown(f"no job {key} is known to the daemon at {where}")
    return Job(line_of_view(key, understood(where, found, JobView)), where, explanation)


def line_of_view(key: str, told: JobView) -> Line:
    """A job as ``/jobs`` tells of it."""
    return Line(
        key,
        told.queue,
        told.phase,
        told.min_member,
        told.priority,
        told.ready,
        told.pending,
        told.running,
        told.succeeded,
        told.failed,
        told.created,
        told.position,
        told.code,
        told.message,
        told.reasons,
    )


def line_of_row(row: JobRow) -> Line:
    """A job as the whole picture has it."""
    return Line(
        row.key,
        row.queue,
        row.phase,
        row.min_member,
        row.priority,
        row.ready,
        row.pending,
        row.running,
        created=row.created,
        position=row.position,
        reason=row.reason,
        message=row.message,
    )


# -- from objects


async def _jobs_of_objects(client: ApiClient) -> Jobs:
    try:
        listed = await client.list(PODGROUPS.path())
    except NotFound:
        raise BadInput(f"{client.connection.server} serves no {PODGROUPS} (are the definitions installed?)") from None
    return Jobs(
        tuple(sorted(map(line_of_object, listed["items"]), key=lambda line: line.key)), client.connection.server
    )


async def _job_of_object(client: ApiClient, key: str) -> Job:
    namespace, _, name = key.partition("/")
    try:
        group = await client.get(PODGROUPS.path(namespace, name))
    except NotFound:
        raise Unknown(f"there is no PodGroup {key} in {client.connection.server}") from None
    listed = await client.list(PODS.path(namespace))
    line = _counted(line_of_object(group), [pod for pod in listed["items"] if _group_of(pod) == name])
    conditions = (group.get("status") or {}).get("conditions") or ()
    plain = tuple({name: _plain(str(words)) for name, words in condition.items()} for condition in conditions)
    return Job(line, client.connection.server, conditions=plain)


def line_of_object(group: Obj) -> Line:
    """A job as its PodGroup tells of it; what nobody wrote there is not known."""
    metadata, spec, status = group["metadata"], group.get("spec") or {}, group.get("status") or {}
    condition: Mapping[str, str] = next((one for one in status.get("conditions") or () if _says_why(one)), {})
    return Line(
        f"{metadata.get('namespace', 'default')}/{metadata['name']}",
        spec.get("queue") or "default",
        status.get("phase") or Phase.PENDING,
        spec.get("minMember") or 0,
        spec.get("priorityClassName") or None,
        running=status.get("running") or 0,
        succeeded=status.get("succeeded") or 0,
        failed=status.get("failed") or 0,
        created=_moment(metadata.get("creationTimestamp")),
        reason=_plain(condition.get("reason", "")),
        message=_plain(condition.get("message", "")),
    )


def _plain(words: str) -> str:
    """Words that anybody may have written, without what is no letter: a terminal would obey it."""
    return (
        words if words.isprintable() else " ".join("".join(one if one.isprintable() else " " for one in words).split())
    )


def _says_why(condition: Mapping[str, str]) -> bool:
    return condition.get("type") == "Unschedulable" and condition.get("status") == "True"


def _moment(text: str | None) -> float | None:
    try:
        return parse_time(text).timestamp() if text else None
    except ValueError:
        return None


def _group_of(pod: Obj) -> str | None:
    annotations = pod["metadata"].get("annotations") or {}
    return next((annotations[name] for name in GROUP_NAMES if name in annotations), None)


def _counted(line: Line, pods: Iterable[Obj]) -> Line:
    """The same with its pods counted: those with a node count as ready, as they do for the gang's minimum."""
    ready = pending = 0
    for pod in pods:
        phase, bound = (pod.get("status") or {}).get("phase"), bool(pod["spec"].get("nodeName"))
        if phase == "Succeeded" or (bound and phase != "Failed" and not pod["metadata"].get("deletionTimestamp")):
            ready += 1
        elif not bound and phase != "Failed":
            pending += 1
    return msgspec.structs.replace(line, ready=ready, pending=pending)
