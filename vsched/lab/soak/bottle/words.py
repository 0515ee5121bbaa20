"""What is said about bottles."""

from __future__ import annotations

from collections.abc import Iterable

NOTHING_PLANNED = "nothing is planned any more: whoever waits would wait for ever"
DAEMON_DIED = "daemon died"
ERROR_IN_LOG = "error in a log"
BOUND_BY_ANOTHER = "pod bound that nobody decided on"
ACCEPTED_AND_LOST = "binding accepted and lost"
RECORD_NOT_TRUE = "record not true"
TAKEN_EARLY = "lease taken that was in force"
WITHOUT_LEASE = "pod acted on without the lease"
NAMES_NO_OBJECT = "write that names no uid and no version"
LOST_IN_SILENCE = "log lines lost in silence"
STEP_FAILED = "step failed"
NOTHING_GOES_WRONG = "from now on nothing goes wrong"
SEED = "seed"
VIRTUAL_SECONDS = "virtual seconds"
PODS = "pods created, bound, finished"
STARTS = "starts of daemons"
DIGEST = "digest of the log"
WITH_VIRTUAL, WITH_ORDERS, WITH_ORDER = "with --virtual", "with --orders", "with --order"
OTHERWISE = "without --virtual or --orders"
ONE_SCENE = "--order: of one scene (expected its name with --orders)"
COLUMNS = ("scene", "deviations", "orders", "seconds", "broken")
SEEDS_COLUMNS = ("seed", "virtual minutes", "pods bound", "starts", "broken")
WITH_SEEDS = "with --seeds"
VCJOB_NOT_DONE = "vcjob never done"
RETRIED_TOO_OFTEN = "vcjob restarted too often"
MIRROR_NOT_TRUE, KUBELET_REFUSES = "mirror not true", "refused by a kubelet"
STATUS_NOT_TRUE = "status not true"
LEFT_OF_A_VCJOB = "left of a vcjob"
NOT_AT_REST = "not at rest"
NEVER = "what must never be"
REFUSED_FOR_NOW = "not now"
EXTENDER_AWAY, EXTENDER_LATE, EXTENDER_FAILS = "connection refused", "no answer in time", "answered 500"
NO_EXTENDER = "--faults: extender: the policy asks none (expected --policy FILE with the plugin extender)"
NOTHING_TO_SHRINK = "--shrink: no promise was broken in this run (expected a seed with which one is)"


def node_refused(node: str) -> str:
    """Why admission lets no pod be bound there."""
    return f"no pod may be bound to {node}"


def pod_refused(reason: str) -> str:
    """What a kubelet says of a pod that it does not run."""
    return f"Pod was rejected: {reason}"


def no_effect(flag: str, mode: str) -> str:
    """A flag that would change nothing."""
    return f"{flag}: has no effect {mode} (expected without it)"


def broken(promise: str, count: int) -> str:
    """A promise that was broken."""
    return f"broken: {promise}, {count} times"


def again(command: str) -> str:
    """How to see what led to the first violation."""
    return f"up to the moment before: {command}"


def smaller(command: str) -> str:
    """A smaller run in which the same goes wrong."""
    return f"the same goes wrong: {command}"


def command(seed: int, minutes: float, nodes: int, daemons: int, pods: float, more: str, until: float) -> str:
    """A run up to a moment, with all that is sent."""
    return (
        f"vsched soak --virtual --seed {seed} --minutes {minutes:g} --nodes {nodes} --daemons {daemons} "
        f"--pods-per-minute {pods:g}{more} --until {until:.3f}s --trace trace.log"
    )


def holds(node: str, cpus: int, room: int) -> str:
    """A node with more than fits on it."""
    return f"{node} holds {cpus} of {room} cpus"


def vcjob_is(job: str, phase: str) -> str:
    """A vcjob that should have ended."""
    return f"vcjob {job} is {phase or 'new'}"


def retried(job: str, times: int) -> str:
    """A vcjob that restarts more often than it may."""
    return f"vcjob {job} restarted {times} times"


def says(group: str, phase: object, placed: int, minimum: int) -> str:
    """The status of a PodGroup is not true."""
    return f"PodGroup {group} is {phase}, with {placed} of at least {minimum} pods placed"


def says_nothing(pod: str) -> str:
    """A pod whose owner cannot know why it waits."""
    return f"{pod} waits and does not say why"


def mirrored(pod: str, mirrored: str, node: str) -> str:
    """A mirror that is not true."""
    return f"{pod} is on {node or 'no node'}, a daemon has it on {mirrored or 'no node'}"


def recorded(pod: str, recorded: str, node: str) -> str:
    """A record of the work that is not true."""
    return f"{pod} is on {node}, the record has it on {recorded or 'no node'}"


def still_recorded(job: str, pod: str) -> str:
    """A record of the work with a pod that is gone."""
    return f"the record still has pod {pod} of job {job}, which is gone"


def says_no_gap(segment: str) -> str:
    """A record that hides that lines are missing."""
    return f"{segment} follows lost lines and does not say since when"


def taken_early(lease: str, holder: str, seconds: float) -> str:
    """Somebody took a Lease that another one could still rely on."""
    return f"{holder} took Lease {lease}, which was in force for {seconds:.1f} s more"


def acts_without(daemon: str, path: str) -> str:
    """A daemon acts while others have the Lease."""
    return f"{daemon} sent POST {path} while another daemon had the Lease"


def still_known(kind: str, name: str) -> str:
    """A mirror with an object that is gone."""
    return f"a daemon still knows {kind} {name}, which is gone"


def still_assumed(pod: str) -> str:
    """A decision that was carried out, or never will be."""
    return f"a daemon still waits for what it decided for {pod}"


def kubelet_says(pod: str, reason: str) -> str:
    """A kubelet that refuses what it was given."""
    return f"the kubelet refused {pod}: {reason}"


def bad_order(part: str) -> str:
    """A part of an order that is none."""
    return f"--order: {part!r}: expected POINT:WHAT, as in 17:late,40:kill"


def progress(scene: str, orders: int, seconds: float) -> str:
    """How far the exploration of a scene has come."""
    return f"{scene}: {orders:,} orders, {seconds:.0f} s"


def order_command(scene: str, order: str) -> str:
    """A scene in one order, with all that is sent."""
    return f"vsched soak --orders {scene} --order '{order}' --trace trace.log"


def seed_done(seed: int, broken: int) -> str:
    """How far many seeds have come."""
    return f"seed {seed}: {broken} broken" if broken else f"seed {seed}: nothing broken"


def queue_says(queue: str, said: int, held: int) -> str:
    """The status of a queue is not true."""
    return f"queue {queue} is said to hold {said} cpus, its pods request {held}"


# -- scenes ------------------------------------------------------------------------------------------------------------


def waits(name: str) -> str:
    return f"{name} waits"


def is_left(kind: str, name: str) -> str:
    return f"{kind} {name} is left"


def placed(pods: Iterable[str]) -> str:
    """Other pods than should be."""
    return f"placed: {', '.join(pods) or 'none'}"


def one_was_enough(evicted: Iterable[str]) -> str:
    return f"{', '.join(evicted)} were evicted, one was enough"


def restarted(state: object, retries: object) -> str:
    """A vcjob that should have restarted once."""
    return f"vcjob old: {state}, retries {retries}"


def over_capability(queue: str) -> str:
    return f"queue {queue} holds more than its capability"
