"""What ``vsched soak`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------


def cannot_be_made(keep: object, why: object) -> str:
    return f"--keep: {keep}: cannot be made: {why}"


ONE_DECIDES = "--shards: one daemon decides for all of them anyway (expected --daemons 2 or more)"
NOTHING_KILLED = "--kills: nothing is killed (expected --kill-every with it)"


def too_few_nodes(pods: float, used: float, nodes: int, room: float, expected: int) -> str:
    return (
        f"{pods:g} pods a minute hold {used:.0f} cpus, {nodes} nodes have room for {room:.0f}: expected --nodes "
        f"{expected} or more"
    )


def promises_broken(broken: str) -> str:
    return f"promises were broken: {broken}"


# -- claims ------------------------------------------------------------------------------------------------------------


def is_on(pod: str, node: str) -> str:
    return f"{pod} is on {node}"


def volume_not_bound(where: str, name: str) -> str:
    return f"{where}, and the volume claim {name} is not bound"


def has_claim(pod: str, node: str, claim: object) -> str:
    return f"{pod} is on {node}, and the claim {claim}"


def no_devices(where: str) -> str:
    return f"{where} has no devices there"


def not_reserved(where: str) -> str:
    return f"{where} is not reserved for it"


def two_owners(device: str, first: str, second: str) -> str:
    return f"{device} belongs to {first} and to {second}"


WITHOUT_NODE = "which has no node"
IS_GONE = "which is gone"


def reserved_for(claim: str, user: str, state: str) -> str:
    return f"{claim} is reserved for {user}, {state}"


def devices_for_nobody(claim: str) -> str:
    return f"{claim} has devices for nobody"


# -- promises ----------------------------------------------------------------------------------------------------------


def rule_violated(rule: object) -> str:
    return f"rule violated ({rule})"


ERROR_IN_LOG = "error in a log"


def nobody_led(seconds: float) -> str:
    return f"nobody else led within {seconds:.0f} s of a kill"


def no_binding(seconds: float) -> str:
    return f"no binding within {seconds:.0f} s of a new leader"


OVER_ITS_SIZE = "node over its size"


def was_on(pod: str, first: object, second: object) -> str:
    return f"{pod} was on {first} and is on {second}"


NONE_LEADS = "none says that it leads"


def none_ready(seconds: float, problem: object) -> str:
    return f"no daemon was ready within {seconds:.0f} s: {problem}"


WITHOUT_CLAIMS = "pod without its claims"
CLAIM_FOR_NOBODY = "claim for nobody"


UNBOUND = "never bound"
PARTIAL = "partial gang"
REQUEST_FAILED = "user's request"


def waited(pod: str, seconds: float) -> str:
    return f"{pod} waited {seconds:.0f} s more when no work came any more"


def partly_bound(gang: str) -> str:
    return f"{gang} has some of its pods bound and others not"


def rose(name: str, rise: float, first: float, per_minute: float) -> str:
    return f"{name} rose by {rise:.1f} from {first:.1f}, {per_minute:.2f} a minute"


def requests_failed(number: int, last: object) -> str:
    return f"{number} requests of the users failed, the last: {last}"


# -- the table ---------------------------------------------------------------------------------------------------------

SERIES = "series of metrics"
KILL_TO_LEADER = "kill to the next leader"
LEADER_TO_BINDING = "next leader to its first binding"
KILL_TO_BINDING = "kill to the next binding"
WARNINGS = "warnings of the daemons:"
PODS_CREATED = "pods created, bound, finished"
PODS_EVICTED = "pods evicted, works taken back"
CREATION_TO_BINDING = "creation to binding, p50 / p99 (ms)"
NEVER_BOUND = "pods never bound, gangs left partial"
SESSIONS_CHECKED = "sessions checked against the rules"
QUESTIONS_ANSWERED = "questions answered: page, explanations, dumps"
LEADERS_GAVE_UP = "leaders that gave up"
TOO_SHORT = "too short to say"
