"""What is answered instead of what was asked for."""

from __future__ import annotations

# -- the question ------------------------------------------------------------------------------------------------------


def too_many_nodes(nodes: int, most: int) -> str:
    return f"{nodes} nodes requested (at most {most} at once)"


NO_SHADOW_LOG = "?since=: there is no log of findings (expected vsched run --shadow --shadow-log FOLDER)"
ANONYMOUS_EXPECTED = "anonymous: expected true or false"
KIND_EXPECTED = "?kind=: expected Pod or PodGroup"
CHANGES_EXPECTED = "?changes=: expected true or false"


def seconds_expected(longest: float) -> str:
    return f"?seconds=: expected a number of more than 0 and at most {longest:g}"


JOB_OR_NODE_EXPECTED = "expected ?job=NAMESPACE/NAME or ?node=NAME, one of both"


def number_expected(name: str, text: str, most: int) -> str:
    return f"?{name}={text}: expected a number from 1 to {most}"


def since_expected(text: str, most: float) -> str:
    return f"?since={text}: expected seconds above 0, and {most:.0f} (a week) at most"


def dimensions_expected(text: str, dimensions: str) -> str:
    return f"?by={text}: expected some of {dimensions}"


# -- what is not known -------------------------------------------------------------------------------------------------


def no_node(node: str) -> str:
    return f"no node {node} is known here"


def no_recording(number: object) -> str:
    return f"there is no recording {number} (/recordings lists them)"


NO_SESSIONS = "this daemon places no pods (--no-schedule), so it has no sessions to record"


def ignored(why: str) -> str:
    return f"{why} (so it is ignored)"


POD_OR_PODGROUP = "pod or PodGroup"


def another_kind(what: str, namespace: str, name: str, kind: str) -> str:
    return f"no {what} {namespace}/{name} is known here: it is a {kind}"


def not_known(what: str, namespace: str, name: str, meant: str) -> str:
    return f"no {what} {namespace}/{name} is known here{meant}"


def no_queue(name: str, meant: str) -> str:
    return f"no queue {name} is known here{meant}"


def did_you_mean(names: str) -> str:
    return f"; did you mean {names}?"


def pods_cannot_be_created(why: str) -> str:
    return f"its pods cannot be created: {why}"


def nothing_known(what: str) -> str:
    return f"no {what} is known here"


def no_history(queue: str | None) -> str:
    return f"queue {queue!r} has no history"


# -- not now -----------------------------------------------------------------------------------------------------------

NO_DATA = "there is no data of the cluster yet"
NO_REAL_TIME = "time is simulated here, so there is nothing to sample"
PROFILE_UNDER_WAY = "somebody else is taking a profile (one is taken at a time)"


def too_many_watch(clients: int) -> str:
    return f"{clients} clients are watching already"


NO_SESSION_YET = "no session has run yet"


def too_many_recordings(waiting: int) -> str:
    return f"{waiting} recordings are being made already"


def too_many_explanations(asked: int) -> str:
    return f"{asked} explanations are already under way"


def explaining_takes_long(seconds: float) -> str:
    return f"explaining takes longer than {seconds:g} s: too many jobs wait"


TOO_MANY_REQUESTS = "too many requests at once"


def no_answer_within(seconds: float) -> str:
    return f"no answer within {seconds:g} s"


STARTING = "this daemon is starting: its log and /readyz say what it waits for"


def ask_the_leader(role: str) -> str:
    return f"this daemon is {role}; ask the leader (kubectl -n vsched get lease names it)"


# -- bodies ------------------------------------------------------------------------------------------------------------


def body_late(seconds: float) -> str:
    return f"the body did not arrive within {seconds:g} s"


def body_incomplete(why: Exception) -> str:
    return f"the body is incomplete: {why}"


def body_too_large(most: str) -> str:
    return f"the body is too large (expected at most {most})"


TOO_MANY_LARGE = "too many large requests at once"


def body_not_json(why: Exception) -> str:
    return f"the body is not JSON: {why}"


# -- reviews, and questions of kube-scheduler --------------------------------------------------------------------------


def object_missing(operation: str) -> str:
    return f"request.object: missing (expected the object of a {operation})"


REQUEST_MISSING = "request: missing (expected an AdmissionRequest)"


def bad_kind(kind: str) -> str:
    return f"request.kind.kind: {kind!r} (expected Consumer or Bucket)"


def cannot_be_read(kind: str) -> str:
    return f"{kind}: cannot be read"


TOO_MANY_UNKNOWN_PODS = "too many requests for pods that are not known here"


def pod_not_known(namespace: str, pod: str, uid: str) -> str:
    return f"pod {namespace}/{pod} of uid {uid!r} is not known here (yet)"


POD_MISSING = "Pod: missing (expected ExtenderArgs: Pod, and NodeNames or Nodes)"


def namespace_missing(where: str) -> str:
    return f"{where}: metadata.namespace: missing (expected its namespace)"


# -- recordings --------------------------------------------------------------------------------------------------------

DIFFERS = "with made-up names the session decides differently"
"""What a recording with made-up names says where the session decides otherwise with them."""
POLICY_OF_RECORDING = "the policy of the recording"
