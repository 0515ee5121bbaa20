"""What ``vsched demo`` says."""

from __future__ import annotations

# -- the command -------------------------------------------------------------------------------------------------------

CONFIG_WITH_MEMORY = "--config: not with --memory, which has a policy of its own"


def created_and_held(created: int, sessions: int) -> str:
    return f"{created} pods were created and {sessions} sessions were held"


def none_bound(seconds: float, problem: str) -> str:
    return f"no pod was bound within {seconds:.1f} s: {problem}"


def partly_bound(gangs: int) -> str:
    return f"{gangs} gangs were left with a part of their pods bound"


def log_cannot_be_written(file: object, why: object) -> str:
    return f"--log-file: {file}: cannot be written: {why}"


# -- last decisions and errors -----------------------------------------------------------------------------------------


def gang_starts(gang: str, queue: str, pods: int, cpus: int, nodes: int, took_ms: float) -> str:
    pods_end, nodes_end = "s" if pods > 1 else " ", "s" if nodes > 1 else ""
    return (
        f"{gang:<18} {queue:<12} {pods:>2} pod{pods_end} of {cpus} cpu on {nodes} node{nodes_end} after "
        f"{took_ms:,.0f} ms"
    )


def bindings_failed(bindings: int) -> str:
    return f"{bindings} bindings failed; see --log-file"


def sessions_failed(sessions: int) -> str:
    return f"{sessions} sessions failed; see --log-file"


# -- the page ----------------------------------------------------------------------------------------------------------

PART = "part of the cluster, ┃ deserved"
LATELY = "used lately, part of the cluster"


def progress(
    seconds: float, bound: int, per_second: int, waiting: int, used_nodes: int, nodes: int, latency: str, cpus: str
) -> str:
    return (
        f"{seconds:5.1f} s  {bound} pods bound, {per_second}/s, {waiting} waiting, {used_nodes}/{nodes} nodes, "
        f"latency {latency}; cpus {cpus}"
    )


def used_lately(queues: str) -> str:
    return f"; used lately {queues}"


def errors(number: int, last: str) -> str:
    return f"\n{number} errors, the last: {last}"


def rate(average: float, most: int) -> str:
    return f"{average:,.0f} on average, {most:,} at most"


CREATION_TO_BINDING = "creation to binding"


def with_waiting(latency: str) -> str:
    return f"{latency}, waiting for room included"


def gangs(bound: int, partial: int) -> str:
    return f"{bound:,} bound, {partial} partially bound"


def held_by(queue: str) -> str:
    return f"held by {queue} since all ask"


def of_cluster(part: float) -> str:
    return f"{part:.0%} of the cluster"


def last_error(error: str) -> str:
    return f", the last: {error}"


def headline(used_nodes: int, nodes: int, left: float) -> str:
    return f"   {used_nodes}/{nodes} nodes used   {left:.0f} s left"


def totals(most: int, bound: int, waiting: int, finished: int, latency: str) -> str:
    return (
        f" (at most {most:,})   {bound:,} bound, {waiting:,} waiting, {finished:,} finished   creation to binding "
        f"{latency}"
    )
