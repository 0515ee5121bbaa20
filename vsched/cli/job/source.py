"""What ``vsched job`` knows of jobs: from a running daemon, or from their objects where none answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from vsched.api.base import Metadata
from vsched.api.resources import PODGROUPS, PODS
from vsched.apimachinery.meta.times import parse_time
from vsched.cli.ask.cluster import ClusterFlags, Obj, objects_of, with_client
from vsched.cli.ask.daemon import ask_daemon, target_beside
from vsched.cli.job import words
from vsched.client.daemon import DaemonClient, decoded
from vsched.client.errors import Unknown
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput, Unavailable, VschedError
from vsched.explain.names import POD_GROUP
from vsched.explain.records import Explanation
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.mirror.ingest.podgroups import made_for
from vsched.model.jobs.native import keys_named
from vsched.model.pods.status import Phase
from vsched.web.overview.document import JobRow
from vsched.web.pages.views import JobShown

T = TypeVar("T")

GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""Annotations by which a pod names its PodGroup."""
MEANT_MAX = 5
"""How many PodGroups are named where a name stands for several."""


class JobLine(msgspec.Struct, frozen=True, rename={"min_member": "minMember", "reason": "code"}):
    """A job as a table shows it, and as ``/jobs`` has it; None stands for what is not known."""

    key: str
    queue: str
    phase: str
    min_member: int
    priority: int | str | None = None
    """The name of its class, where the value of the class is not known."""
    ready: int | None = None
    pending: int | None = None
    running: int = 0
    succeeded: int | None = None
    failed: int | None = None
    created: float | None = None
    """Seconds since the epoch."""
    position: int | None = None
    """In the order of its queue; None where it does not wait, or the order is not known."""
    reason: str = ""
    """Why it waits, in one word."""
    message: str = ""
    """The same in a sentence."""
    reasons: Mapping[str, int] = {}
    """Nodes, counted by why the job does not fit them."""
    called: str = ""
    """How people know it, as ``ReplicaSet default/web-5d9``; empty where by its key."""

    @property
    def title(self) -> str:
        """How people know it."""
        return self.called or self.key

    @property
    def waits(self) -> bool:
        """Whether it has less than its minimum."""
        if self.ready is None:
            return self.phase in (Phase.PENDING, Phase.INQUEUE)
        return self.ready < self.min_member and self.phase != Phase.COMPLETED


class JobList(msgspec.Struct, frozen=True):
    """All jobs, and where they were read."""

    lines: tuple[JobLine, ...]
    source: str
    """The address of a daemon, or of an API server."""


class JobDetails(msgspec.Struct, frozen=True):
    """Everything about one job."""

    line: JobLine
    source: str
    explanation: Explanation | None = None
    """None where no daemon was asked."""
    conditions: tuple[Mapping[str, str], ...] = ()
    """Of the PodGroup; empty where a daemon was asked."""


def read_jobs(target: DaemonTarget, cluster: ClusterFlags) -> tuple[JobList, str]:
    """All jobs, and a remark on what is not known; raises where neither a daemon nor a cluster answers."""
    return _first(target, cluster, jobs_of_daemon, _jobs_of_objects)


def read_job(target: DaemonTarget, cluster: ClusterFlags, key: str) -> tuple[JobDetails, str]:
    """One job, and a remark on what is not known; raises BadInput where there is none of that name."""
    return _first(
        target, cluster, lambda daemon: _job_of_daemon(daemon, key), lambda client: _job_of_object(client, key)
    )


def _first(
    target: DaemonTarget,
    cluster: ClusterFlags,
    from_daemon: Callable[[DaemonClient], Awaitable[T]],
    from_objects: Callable[[ApiClient], Coroutine[Any, Any, T]],
) -> tuple[T, str]:
    """The daemon's answer; where no daemon was named and none answers, that of the objects, and why."""
    why = ""
    if target_beside(cluster, target) is not None:
        try:
            return ask_daemon(target, from_daemon), ""
        except Unknown:
            raise
        except VschedError as error:
            if target.named:
                raise
            why = str(error)
    try:
        found = with_client(cluster, from_objects)
    except Unknown:
        raise
    except BadInput as error:
        # Without a cluster, a person can do something about the daemon's problem only.
        raise Unavailable(f"{why}; and {error}") if why else error from None
    return found, f"{why}; {words.WITHOUT_DAEMON}" if why else words.DAEMON_SHOWS_THEM


# -- from a daemon


async def jobs_of_daemon(daemon: DaemonClient) -> JobList:
    rows, where = await daemon.jobs(), daemon.server
    return JobList(tuple(_line_of_row(where, key, row) for key, row in rows.items()), where)


async def _job_of_daemon(daemon: DaemonClient, key: str) -> JobDetails:
    rows, where = await daemon.jobs(), daemon.server
    exact = next((each for each in keys_named(key) if each in rows), None)
    # The daemon knows what else a name stands for, such as the owner of a PodGroup.
    if exact is None:
        explanation = await daemon.explain(key)
    else:
        explanation = await daemon.explain(exact.partition(":")[0], "PodGroup")
    found = exact or explanation.key
    if explanation.kind != POD_GROUP or found not in rows:
        raise Unknown(words.not_known(key, where))
    return JobDetails(_line_of_row(where, found, rows[found]), where, explanation)


def _line_of_row(where: str, key: str, row: JobShown) -> JobLine:
    line: JobLine = decoded(where, {**row, "key": key}, JobLine)
    return line


def line_of_overview(row: JobRow) -> JobLine:
    """A job of the daemon's overview."""
    shared = [name for name in JobLine.__struct_fields__ if name in JobRow.__struct_fields__]
    return JobLine(**{name: getattr(row, name) for name in shared})


# -- from objects


async def _jobs_of_objects(client: ApiClient) -> JobList:
    lines = map(line_of_object, await objects_of(client, PODGROUPS))
    return JobList(tuple(sorted(lines, key=lambda line: line.key)), client.connection.server)


async def _job_of_object(client: ApiClient, key: str) -> JobDetails:
    namespace, _, name = key.partition("/")
    try:
        group = await client.get(PODGROUPS.path(namespace, name))
    except NotFound:
        group = _made_for(key, (await client.list(PODGROUPS.path(namespace)))["items"], client.connection.server)
        name = group["metadata"]["name"]
    listed = await client.list(PODS.path(namespace))
    line = _counted(line_of_object(group), [pod for pod in listed["items"] if _group_of(pod) == name])
    conditions = (group.get("status") or {}).get("conditions") or ()
    plain = tuple({name: _plain(str(text)) for name, text in condition.items()} for condition in conditions)
    return JobDetails(line, client.connection.server, conditions=plain)


def _made_for(key: str, groups: Iterable[Obj], where: str) -> Obj:
    """The only PodGroup that was made for an owner of this name; raises Unknown."""
    owner = key.partition("/")[2]
    found = [one for one in groups if _called(one["metadata"]) and owner in _owners(one["metadata"])]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(one["metadata"]["name"] for one in found[:MEANT_MAX])
        raise Unknown(words.several_podgroups(len(found), key, names))
    raise Unknown(words.no_podgroup(key, where))


def _owners(metadata: Obj) -> Iterator[str]:
    """The names of the objects that control a PodGroup."""
    return (one["name"] for one in metadata.get("ownerReferences") or () if one.get("controller"))


def line_of_object(group: Obj) -> JobLine:
    """A job from its PodGroup; what is not written there is not known."""
    metadata, spec, status = group["metadata"], group.get("spec") or {}, group.get("status") or {}
    condition: Mapping[str, str] = next((one for one in status.get("conditions") or () if _says_why(one)), {})
    return JobLine(
        f"{metadata.get('namespace', 'default')}/{metadata['name']}",
        spec.get("queue") or "default",
        status.get("phase") or Phase.PENDING,
        spec.get("minMember") or 0,
        spec.get("priorityClassName") or None,
        running=status.get("running") or 0,
        succeeded=status.get("succeeded") or 0,
        failed=status.get("failed") or 0,
        created=_seconds_of(metadata.get("creationTimestamp")),
        reason=_plain(condition.get("reason", "")),
        message=_plain(condition.get("message", "")),
        called=_called(metadata),
    )


def _called(metadata: Obj) -> str:
    """How people know the job of a PodGroup; empty where by its key."""
    try:
        kind, _, name = made_for(msgspec.convert(metadata, Metadata)).partition(" ")
    except msgspec.ValidationError:
        return ""
    return f"{kind} {metadata.get('namespace', 'default')}/{name}" if name else ""


def _plain(text: str) -> str:
    """The words without characters that are not printable: a terminal would obey them."""
    return text if text.isprintable() else " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _says_why(condition: Mapping[str, str]) -> bool:
    return condition.get("type") == "Unschedulable" and condition.get("status") == "True"


def _seconds_of(text: str | None) -> float | None:
    try:
        return parse_time(text).timestamp() if text else None
    except ValueError:
        return None


def _group_of(pod: Obj) -> str | None:
    annotations = pod["metadata"].get("annotations") or {}
    return next((annotations[name] for name in GROUP_NAMES if name in annotations), None)


def _counted(line: JobLine, pods: Iterable[Obj]) -> JobLine:
    """The line with its pods counted; a pod with a node counts as ready, as for the gang's minimum."""
    ready = pending = 0
    for pod in pods:
        phase, bound = (pod.get("status") or {}).get("phase"), bool(pod["spec"].get("nodeName"))
        if phase == "Succeeded" or (bound and phase != "Failed" and not pod["metadata"].get("deletionTimestamp")):
            ready += 1
        elif not bound and phase != "Failed":
            pending += 1
    return msgspec.structs.replace(line, ready=ready, pending=pending)
