"""What is said of JobFlows, JobTemplates and CronJobs, and of their probes."""

from __future__ import annotations

# -- flows and cron jobs that are refused ------------------------------------------------------------------------------


def long_name(length: int, most: int) -> str:
    return f"metadata.name: {length} characters (expected at most {most})"


NO_TIME_ZONE = "spec.timeZone: '' (expected a name such as Europe/Berlin, or none)"


# -- their vcjobs ------------------------------------------------------------------------------------------------------


def key_not_managed(key: str) -> str:
    return f"{key!a} not managed"


def created_vcjob(name: object) -> str:
    return f"created vcjob {name}"


def vcjob_of_another(name: object, kind: str) -> str:
    return f"vcjob {name} exists already and does not belong to this {kind}"


def deleted_vcjob(name: str) -> str:
    return f"deleted vcjob {name}"


# -- runs of cron jobs -------------------------------------------------------------------------------------------------

SCHEDULE_FIELDS = "expected minute, hour, day, month and day of the week, as in 0 3 * * 1-5, or @daily and the like"


def unknown_time_zone(zone: str) -> str:
    return f"spec.timeZone: {zone!r} (expected a name such as Europe/Berlin)"


def run_was_missed(due: str) -> str:
    return f"the run of {due} was missed: it is later than startingDeadlineSeconds"


def run_waits(due: str, vcjob: str) -> str:
    return f"the run of {due} waits: vcjob {vcjob} has not ended"


TOO_MANY_MISSED = "too many missed start times: set or decrease spec.startingDeadlineSeconds, or check the clocks"


# -- the flows of a JobFlow --------------------------------------------------------------------------------------------


def is_there_twice(at: str, name: str) -> str:
    return f"{at}.name: {name!r} is there twice"


def no_other_flow(at: str, target: str) -> str:
    return f"{at}.dependsOn.targets: {target!r} (expected the name of another flow)"


def too_many_probes(asked: int, most: int) -> str:
    return f"spec.flows: {asked} probes in httpGetList and tcpSocketList (expected at most {most})"


def depend_on_each_other(flows: str) -> str:
    return f"spec.flows: {flows} depend on each other"


# -- probes ------------------------------------------------------------------------------------------------------------

PROBES_TOO_SLOW = "was not probed: earlier probes were too slow"


def address_of_this_daemon(address: str) -> str:
    return f"{address} is an address of this daemon"


def no_answer_within(seconds: float) -> str:
    return f"no answer within {seconds:g} s"


NOT_HTTP = "answered something that is not HTTP"


def probe_of_pod(probe: object, pod: str) -> str:
    return f"{probe} of pod {pod}"


def field_is_missing(index: int, field: str) -> str:
    return f"taskStatusList[{index}].{field}: is missing"


def bad_path(path: str, most: int) -> str:
    return f"path: {path!r} (expected at most {most} ASCII characters without spaces)"


def bad_header_name(name: str) -> str:
    return f"httpHeader.name: {name!r} (expected the name of a header of a request)"


def bad_header_value(value: str, most: int) -> str:
    return f"httpHeader.value: {value!r} (expected at most {most} printable characters)"


def no_ip_address(address: str) -> str:
    return f"{address!r} is no IP address"


def no_address_of_a_pod(address: str) -> str:
    return f"{address} is no address of a pod"


def in_no_network(address: str, networks: str) -> str:
    return f"{address} is in none of the networks of pods ({networks})"


CLOSED_WITHOUT_ANSWER = "closed the connection without an answer"


# -- how flows go on ---------------------------------------------------------------------------------------------------


def flows_added_late(flows: str) -> str:
    return f"flows added after all were complete are not started: {flows}"


def no_job_template(name: str) -> str:
    return f"JobTemplate {name} does not exist: its flow waits"


def more_flows_wait(more: int) -> str:
    return f"{more} more flows wait"


def no_target_has_task(task: str) -> str:
    return f"no target has the task {task!r} that a probe names"
