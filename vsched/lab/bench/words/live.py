"""What ``vsched bench-live`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------


def no_room(pods: int, further: int, nodes: int, room: int) -> str:
    return (
        f"{pods} pods and {further} more, to warm up, waiting and single ones, do not fit {nodes} nodes: expected at "
        f"most {room} in all"
    )


def no_checkout(revision: str, folder: str) -> str:
    return f"--against {revision}: {folder} is not a git checkout: run the bench from one"


def no_revision(revision: str, checkout: str) -> str:
    return f"--against {revision}: no such revision in {checkout}"


def not_checked_out(commit: str, folder: str) -> str:
    return f"--against {commit}: git could not check it out into {folder}"


NO_GIT = "--against: there is no git: install it, or leave --against out"
PROFILE_OF_ONE = "--profile: expected without --against, as only one daemon can be looked at"


def not_writable(path: str, why: str | None) -> str:
    return f"--profile {path}: cannot be written: {why}"


# -- figures -----------------------------------------------------------------------------------------------------------

OVER_HTTP = "over plain HTTP"


def server_time(milliseconds: float) -> str:
    return f", {milliseconds:g} ms of the server a write"


def how(connection: str, pod_bytes: int, slow: str) -> str:
    return f"{connection}, a pod of {pod_bytes:,} bytes{slow}"


DAEMON_TIME = "daemon's processor time for each pod (ms)"
EACH_CLAIMS = "each pod claims"
FIRST_TO_LAST = "first creation to last binding (s)"
CREATING = "creating alone (s)"
LATENCY_IN_BURST = "creation to binding in the burst, p50 / p99 (ms)"
LATENCY_ALONE = "creation to binding one pod at a time, p50 / p99 (ms)"
DAEMON_WRITES = "daemon's writes a pod"
PROCESSOR_TIME = "processor time (s)"
SAME_FOR_EACH = "the same for each pod of the burst (ms)"
WAITING = "pods that wait already, pods a second"
WAITING_WRITES = "daemon's writes for each of these"
WAITING_TIME = "processor time for each of these (ms)"


# -- plain loops -------------------------------------------------------------------------------------------------------

LOOPS = "Plain loops of aiohttp: processor time of loop and server for each write"
VOLCANO_AT_ONCE = "Volcano's writes, placed at once"
VOLCANO_SEEN_BEFORE = "Volcano's writes, seen before"
RATIO = "ratio: daemon's time a pod / loop's time a binding"


def waiting_by_loop(loop: str) -> str:
    return f"pods/s of waiting / {loop}"


def server_by_waiting(loop: str) -> str:
    return f"{loop} / waiting, time of the server"


def medians(rounds: int, revision: str, commit: str) -> str:
    return f"Medians of {rounds} runs each, in turns with {revision} ({commit})"


# -- what Volcano writes -----------------------------------------------------------------------------------------------

TASKS_UNSCHEDULABLE = "20/20 tasks in gang unschedulable: pod group is not ready, 20 Pending, 20 minAvailable"
TASKS_READY = "tasks in gang are ready"
GROUP_READY = "pod group is ready"


def assigned(namespace: str, pod: str, node: str) -> str:
    return f"Successfully assigned {namespace}/{pod} to {node}"


# -- profiles ----------------------------------------------------------------------------------------------------------


def looked_at(seconds: float, looks: int) -> str:
    return f"{seconds:.2f} s of processor time, {looks:,} looks"


EVENT_LOOP = "event loop: sockets, TLS, timers"
LIBRARIES = "interpreter and libraries"
WATCHES = "watches: lines read, decoded, made into tasks"
REQUESTS = "requests: what to write, its queue, HTTP"
MIRROR = "mirror: kept, counted, snapshots"
SESSIONS = "sessions: jobs, nodes, the plan"
PAGES = "metrics, pages, clock"
DAEMON = "daemon and controllers"
