"""What the controller of vcjobs says."""

from __future__ import annotations

from vsched.controllers.vcjobs import words as vcjobs

SENTENCES = [
    # controllers/vcjobs/words
    (vcjobs.NO_TASKS, "spec.tasks: none (expected at least one)"),
    (vcjobs.replicas_of_all_tasks(2), "the 2 replicas of all tasks"),
    (
        vcjobs.minimum_above_total(3, vcjobs.replicas_of_all_tasks(2)),
        "spec.minAvailable: 3 is more than the 2 replicas of all tasks",
    ),
    (vcjobs.too_many_pods(100001, 100000), "spec.tasks: 100,001 pods (expected 100,000 at most)"),
    (vcjobs.minimum_above_replicas("spec.tasks[0]", 3, 2), "spec.tasks[0].minAvailable: 3 is more than replicas (2)"),
    (
        vcjobs.bad_task_name("spec.tasks[0]", "x", 64),
        "spec.tasks[0].name: 'x' (expected at most 64 small letters, digits and '-')",
    ),
    (
        vcjobs.long_pod_name("spec.tasks[0]", "x", 70, 64),
        "spec.tasks[0].name: the name of a pod, x, has 70 characters (expected at most 64)",
    ),
    (
        vcjobs.partitions_are_not_replicas("spec.tasks[0].partitionPolicy", 2, 2, 4, 5),
        "spec.tasks[0].partitionPolicy: 2 partitions of 2 pods are 4 pods (expected replicas, 5)",
    ),
    (
        vcjobs.minimum_above_partitions("spec.tasks[0]", 3, 2),
        "spec.tasks[0].minPartitions: 3 is more than totalPartitions (2)",
    ),
    (
        vcjobs.both_tiers("spec.tasks[0]"),
        "spec.tasks[0]: both highestTierAllowed and highestTierName (expected one of them)",
    ),
    (vcjobs.both_event_and_exit_code("spec.tasks[0]"), "spec.tasks[0]: both event and exitCode (expected one of them)"),
    (vcjobs.neither_event_nor_exit_code("spec.tasks[0]"), "spec.tasks[0]: neither event nor exitCode"),
    (vcjobs.exit_code_0("spec.tasks[0]"), "spec.tasks[0].exitCode: 0 (expected the exit code of a failure)"),
    (
        vcjobs.unknown_event("spec.policies[0]", "PodRunning", "*, PodFailed"),
        "spec.policies[0].event: 'PodRunning' (expected one of *, PodFailed)",
    ),
    (
        vcjobs.unknown_policy_action("spec.policies[0]", "SyncJob", "AbortJob, RestartJob"),
        "spec.policies[0].action: 'SyncJob' (expected one of AbortJob, RestartJob)",
    ),
    (
        vcjobs.in_many_policies("spec.policies", "event", "PodFailed", 2),
        "spec.policies: event PodFailed is in 2 policies",
    ),
    (
        vcjobs.event_of_all("spec.tasks[0]"),
        "spec.tasks[0]: event * means all others (expected no other event beside it)",
    ),
    (vcjobs.no_duration("spec.tasks[0]", "many"), "spec.tasks[0]: 'many' (expected a duration such as 10m)"),
    (vcjobs.mount_path_twice("spec.tasks[0]", "/d"), "spec.tasks[0].mountPath: /d is there twice"),
    (vcjobs.no_volume_claim("spec.tasks[0]"), "spec.tasks[0]: neither volumeClaim nor volumeClaimName"),
    (
        vcjobs.two_volume_claims("spec.tasks[0]"),
        "spec.tasks[0]: both volumeClaim and volumeClaimName (expected one: a new claim, or one that is there)",
    ),
    (vcjobs.no_claim_name("spec.tasks[0]", "x"), "spec.tasks[0].volumeClaimName: 'x' cannot be the name of a claim"),
    (vcjobs.too_many_hosts("svc", 10001, 10000), "spec.plugins[svc]: 10,001 pods to list (expected 10,000 at most)"),
    (vcjobs.tasks_of_one_name(3, "x"), "spec.tasks: 3 tasks are called x"),
    (vcjobs.no_task_to_depend_on(0, "worker"), "spec.tasks[0].dependsOn.name: there is no task 'worker'"),
    (vcjobs.tasks_wait_for_each_other("a -> b -> a"), "spec.tasks: tasks wait for each other: a -> b -> a"),
    (vcjobs.too_small("spec.minSuccess", 0, 1), "spec.minSuccess: 0 (expected 1 or more)"),
    (
        vcjobs.ONLY_THESE_MAY_CHANGE,
        "spec: only minAvailable, priorityClassName, tasks[*].replicas and tasks[*].minAvailable may be changed",
    ),
    (
        vcjobs.tasks_added_or_removed(2, 3),
        "spec.tasks: 2 (expected 3 as before: tasks can be neither added nor removed)",
    ),
    (
        vcjobs.may_not_change("spec.policies", vcjobs.a_list_of(1), "nothing"),
        "spec.policies: a list of 1 (expected nothing as before)",
    ),
    (vcjobs.a_list_of(2), "a list of 2"),
    (vcjobs.UNTIL_RESTARTED, "until the whole job is restarted"),
    (
        vcjobs.podgroup_stays_in_queue("q", vcjobs.UNTIL_RESTARTED),
        "spec.queue: the PodGroup stays in queue q until the whole job is restarted",
    ),
    (
        vcjobs.podgroup_keeps_topology(vcjobs.UNTIL_RESTARTED),
        "spec.networkTopology: the PodGroup keeps the old one until the whole job is restarted",
    ),
    (
        vcjobs.only_for_new_pods("spec.tasks[0].template"),
        "spec.tasks[0].template: the change applies only to pods created from now on",
    ),
    (
        vcjobs.cannot_be_read("team/train", "it is gone"),
        "vcjob team/train cannot be read, so it is not run: it is gone",
    ),
    (
        vcjobs.for_another_scheduler("team/train", "other"),
        "vcjob team/train is for scheduler other, which this daemon does not serve",
    ),
    (vcjobs.cannot_be_run("team/train", "it is gone"), "vcjob team/train cannot be run: it is gone"),
    (vcjobs.not_managed_here("team/train", "it is gone"), "vcjob team/train is not managed here: it is gone"),
    (
        vcjobs.suspended("team/train"),
        "vcjob team/train is Aborted (suspended): vsched job resume team/train starts it again",
    ),
    (
        vcjobs.has_no_podgroup("team/train", "Pending", ": its queue is closed"),
        "vcjob team/train is Pending and has no PodGroup: its queue is closed",
    ),
    (vcjobs.vcjob_not_managed("team/train"), "vcjob not managed: 'team/train'"),
    (vcjobs.podgroup_waits("it is gone"), "its PodGroup waits: it is gone"),
    (vcjobs.no_longer_managed("other"), "spec.schedulerName: vsched no longer manages the job, for scheduler other"),
    (vcjobs.no_more_pods("it is gone"), "no more pods are created until this is fixed: it is gone"),
    (vcjobs.no_job("train"), "Job train does not exist"),
    (vcjobs.no_job("train", any_more=True), "Job train does not exist any more"),
    (vcjobs.no_plugin("x", "a or b"), "spec.plugins: no plugin 'x' (expected a or b)"),
    (
        vcjobs.no_task_for_plugin("drf", "worker", "ps"),
        "spec.plugins[drf]: no task 'worker' (expected one of this name, or --ps to name another)",
    ),
    (vcjobs.needs_key_pair("train-ssh"), "the Secret train-ssh needs a new key pair"),
    (vcjobs.PODGROUP_LOST_PODS, "the PodGroup has lost pods: its phase is Unknown"),
    (vcjobs.pod_was_deleted("PodEvicted", "train-worker-0"), "PodEvicted: pod train-worker-0 was deleted"),
    (vcjobs.with_exit_code(137), " with exit code 137"),
    (vcjobs.pod_is_pending("PodPending", "train-worker-0"), "PodPending: pod train-worker-0 is pending"),
    (vcjobs.task_has_succeeded("TaskCompleted", "worker"), "TaskCompleted: all pods of task worker have succeeded"),
    (
        vcjobs.containers_have_restarted("TaskFailed", "worker", 4),
        "TaskFailed: containers of task worker have restarted 4 times",
    ),
    (
        vcjobs.more_than_max_retry(vcjobs.containers_have_restarted("TaskFailed", "worker", 4), 3),
        "TaskFailed: containers of task worker have restarted 4 times, more than maxRetry 3",
    ),
    (vcjobs.no_volume_claim_of("x", "team"), "PersistentVolumeClaim x does not exist in namespace team"),
    (vcjobs.not_yet_looked("team"), "not yet looked for Volcano's controllers in namespace team"),
    (vcjobs.rival_pod("team/p-0"), "Volcano's controllers look after vcjobs: they run in pod team/p-0"),
    (
        vcjobs.rival_lease("vc-0", "volcano-system/vc"),
        "Volcano's controllers look after vcjobs: vc-0 holds the Lease volcano-system/vc",
    ),
    (vcjobs.VCJOBS_NOT_MANAGED, "vcjobs are not managed here"),
    (vcjobs.VCJOBS_MANAGED_AGAIN, "vcjobs are managed here again"),
    (vcjobs.RIVALS_GONE, "Volcano's controllers are gone"),
    (vcjobs.LEASE_CANNOT_BE_READ, "Volcano's Lease cannot be read"),
    (vcjobs.tasks_cannot_start("worker"), "task worker cannot start: what it depends on has failed"),
    (vcjobs.too_few_left("2 pods"), "2 pods failed: too few are left for the gang, and none of them has a node"),
    (vcjobs.of_task_which_needs("worker", 3), "of task worker, which needs 3"),
    (vcjobs.minimum_to_succeed("2 pods failed", 3), "2 pods failed; minSuccess is 3"),
    (
        vcjobs.minimum_to_run(f"2 pods {vcjobs.of_task_which_needs('worker', 3)}", 3),
        "2 pods of task worker, which needs 3; minAvailable is 3",
    ),
    (vcjobs.retry_of(2, 3, ""), "retry 2 of at most 3"),
    (vcjobs.no_effect_in_phase("AbortJob", "Running"), "AbortJob has no effect on a job in phase Running"),
    (vcjobs.no_containers("spec.tasks[0]"), "spec.tasks[0].spec.containers: none (expected at least one)"),
    (vcjobs.more_not_created(3), " (3 more could not be created)"),
    (vcjobs.OBJECT_OF_ANOTHER, "an object of this name exists that the job does not own"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
