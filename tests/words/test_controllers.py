"""What the controllers of queues, PodGroups and flows say."""

from __future__ import annotations

from vsched.controllers import words as controllers
from vsched.controllers.flows import words as flows

SENTENCES = [
    # controllers/words
    (controllers.not_managed("it is gone"), "not managed: it is gone"),
    (
        controllers.not_run_in("team"),
        "vcjobs are not run in namespace team: it is not one of those that vsched runs them in",
    ),
    (controllers.CANNOT_BE_WRITTEN, "cannot be written"),
    (controllers.QUEUE_RESERVES, "its queue reserves resources for it"),
    (controllers.PODGROUP_BY_NAME, "PodGroup, by name"),
    (controllers.PODGROUPS_CANNOT_BE_WRITTEN, "PodGroups for pods without one cannot be written"),
    (controllers.AMOUNTS, 'amounts by resource, such as {"cpu": "4"}'),
    (
        controllers.REQUESTS_CANNOT_BE_LISTED,
        "ProvisioningRequests cannot be listed, so pods request nodes by their conditions",
    ),
    (controllers.asked_for_nodes(3, "train-1"), "asked for nodes for 3 pods by ProvisioningRequest train-1"),
    (controllers.REQUEST_CANNOT_BE_WRITTEN, "ProvisioningRequest cannot be written"),
    (controllers.nodes_not_ready("15m"), "it was provisioned, but its nodes were not ready within 15m"),
    (
        controllers.unknown_action("AbortQueue", "OpenQueue or CloseQueue"),
        "action: 'AbortQueue' is unknown (expected OpenQueue or CloseQueue)",
    ),
    (controllers.no_queue("q"), "Queue q does not exist"),
    (controllers.no_queue("q", any_more=True), "Queue q does not exist any more"),
    (controllers.unknown_state("shut", "open or closed"), "'shut' is unknown (expected open or closed)"),
    (controllers.unknown_status("Shut"), "status.state: 'Shut' is unknown; request the state that you want"),
    (controllers.WITH_ITS_PARENT, " with its parent"),
    (controllers.QUEUE_CANNOT_BE_CREATED, "queue cannot be created"),
    (controllers.commands_in_namespace_only("team"), "Commands for queues are accepted in namespace team only"),
    (
        controllers.no_name("A_B", "a Queue", "a-z, 0-9"),
        "target.name: 'A_B' cannot be the name of a Queue (expected a-z, 0-9)",
    ),
    (controllers.root_cannot_be_closed("root"), "root is the parent of all queues and cannot be closed"),
    (controllers.parent_first("p", "Closed"), "its parent p is Closed and must be opened first"),
    (controllers.NODESHARDS_CANNOT_BE_LISTED, "NodeShards cannot be listed, so all nodes are used"),
    (controllers.no_nodeshard_no_node("x"), "NodeShard x does not exist, so no node may be used"),
    (controllers.no_nodeshard_none_preferred("x"), "NodeShard x does not exist, so no node is preferred"),
    # controllers/flows/words
    (flows.long_name(70, 64), "metadata.name: 70 characters (expected at most 64)"),
    (flows.NO_TIME_ZONE, "spec.timeZone: '' (expected a name such as Europe/Berlin, or none)"),
    (flows.key_not_managed("team/train"), "'team/train' not managed"),
    (flows.created_vcjob("x"), "created vcjob x"),
    (flows.vcjob_of_another("f-a", "JobFlow"), "vcjob f-a exists already and does not belong to this JobFlow"),
    (flows.deleted_vcjob("x"), "deleted vcjob x"),
    (
        flows.SCHEDULE_FIELDS,
        "expected minute, hour, day, month and day of the week, as in 0 3 * * 1-5, or @daily and the like",
    ),
    (flows.unknown_time_zone("Mars/Base"), "spec.timeZone: 'Mars/Base' (expected a name such as Europe/Berlin)"),
    (
        flows.run_was_missed("2026-08-01T03:00:00Z"),
        "the run of 2026-08-01T03:00:00Z was missed: it is later than startingDeadlineSeconds",
    ),
    (
        flows.run_waits("2026-08-01T03:00:00Z", "team/train"),
        "the run of 2026-08-01T03:00:00Z waits: vcjob team/train has not ended",
    ),
    (
        flows.TOO_MANY_MISSED,
        "too many missed start times: set or decrease spec.startingDeadlineSeconds, or check the clocks",
    ),
    (flows.is_there_twice("spec.flows[1]", "a"), "spec.flows[1].name: 'a' is there twice"),
    (
        flows.no_other_flow("spec.flows[0]", "c"),
        "spec.flows[0].dependsOn.targets: 'c' (expected the name of another flow)",
    ),
    (flows.too_many_probes(3, 64), "spec.flows: 3 probes in httpGetList and tcpSocketList (expected at most 64)"),
    (flows.depend_on_each_other("a -> b -> a"), "spec.flows: a -> b -> a depend on each other"),
    (flows.PROBES_TOO_SLOW, "was not probed: earlier probes were too slow"),
    (flows.address_of_this_daemon("10.0.0.1"), "10.0.0.1 is an address of this daemon"),
    (flows.no_answer_within(5), "no answer within 5 s"),
    (flows.NOT_HTTP, "answered something that is not HTTP"),
    (flows.probe_of_pod("tcp:80", "team/p-0"), "tcp:80 of pod team/p-0"),
    (flows.field_is_missing(0, "x"), "taskStatusList[0].x: is missing"),
    (flows.bad_path("a b", 64), "path: 'a b' (expected at most 64 ASCII characters without spaces)"),
    (flows.bad_header_name("x"), "httpHeader.name: 'x' (expected the name of a header of a request)"),
    (flows.bad_header_value("ä", 64), "httpHeader.value: 'ä' (expected at most 64 printable characters)"),
    (flows.no_ip_address("10.0.0.1"), "'10.0.0.1' is no IP address"),
    (flows.no_address_of_a_pod("10.0.0.1"), "10.0.0.1 is no address of a pod"),
    (flows.in_no_network("10.0.0.1", "10.0.0.0/8"), "10.0.0.1 is in none of the networks of pods (10.0.0.0/8)"),
    (flows.CLOSED_WITHOUT_ANSWER, "closed the connection without an answer"),
    (flows.flows_added_late("b"), "flows added after all were complete are not started: b"),
    (flows.no_job_template("x"), "JobTemplate x does not exist: its flow waits"),
    (flows.more_flows_wait(3), "3 more flows wait"),
    (flows.no_target_has_task("worker"), "no target has the task 'worker' that a probe names"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
