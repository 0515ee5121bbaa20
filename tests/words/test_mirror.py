"""What the mirror says of objects that belong together, and of what-if edits."""

from __future__ import annotations

from vsched.mirror.state import words as state
from vsched.mirror.whatif import words as whatif

SENTENCES = [
    # mirror/state/words
    (
        state.for_another_scheduler("Pod team/p-0", "other"),
        "Pod team/p-0: it is for another scheduler: spec.schedulerName is other",
    ),
    (state.there_more_than_once("device", "gpu-0"), "device gpu-0 is there more than once"),
    (
        state.queue_without_priority("", "PriorityClass gone does not exist"),
        "PriorityClass gone does not exist: the queue has priority 0",
    ),
    (
        state.priority_of_queue_holds("PodGroup team/a: ", "PriorityClass gone does not exist"),
        "PodGroup team/a: PriorityClass gone does not exist: its queue's priority holds",
    ),
    (
        state.its_priority_is("", "PriorityClass gone does not exist", 5),
        "PriorityClass gone does not exist: its priority is 5",
    ),
    (state.one_scheduler("other"), "scheduler other"),
    (state.other_schedulers("volcano and vsched"), "other schedulers (volcano and vsched)"),
    (state.daemon_serves("volcano and vsched"), " (this daemon serves volcano and vsched)"),
    (state.pods_for_others(1, state.one_scheduler("x"), ""), "1 of its pods is for scheduler x"),
    (
        state.pods_for_others(3, state.other_schedulers("2 for x, 1 for y"), state.daemon_serves("vsched")),
        "3 of its pods are for other schedulers (2 for x, 1 for y) (this daemon serves vsched)",
    ),
    (state.SAME_SCHEDULER, "all pods in a single pod group should have the same .spec.schedulerName set"),
    (
        state.priority_of_pods_differs(7, "1 have 5"),
        "spec.priority is 7, and pods have another one (1 have 5): all have to be equal",
    ),
    (state.TAKES_NO_NEW_PODS, "it is being deleted, and takes no new pods"),
    (state.no_parent_group("x"), "spec.parentCompositePodGroupName: CompositePodGroup x does not exist"),
    (state.group_in_a_cycle("root"), "spec.parentCompositePodGroupName: root is above and below it (a cycle)"),
    (state.too_many_levels(64), "the tree of groups has more than 64 levels"),
    (state.groups_of_several_workloads("v, w"), "its groups belong to several Workloads: v, w"),
    (state.which_label_names("grove.io/podgang"), "which its label grove.io/podgang names"),
    (state.OWNER_OF_IT, "an owner of it"),
    (
        state.waits_for_owner("PodGang", "chat-0", state.which_label_names("grove.io/podgang")),
        "it waits for PodGang chat-0, which its label grove.io/podgang names, which has not been seen yet",
    ),
    (
        state.waits_for_owner("RayJob", "sum", state.OWNER_OF_IT),
        "it waits for RayJob sum, an owner of it, which has not been seen yet",
    ),
    # mirror/whatif/words
    (whatif.no_argument("drf", "size"), "plugin drf: has no argument size"),
    (whatif.plugin_not_used("drf"), "plugin drf: the policy does not use it"),
    (whatif.no_device("gpu.example.com/h100/gpu-0"), "device gpu.example.com/h100/gpu-0: there is none of this name"),
    (whatif.no_volume_claim("data"), "PersistentVolumeClaim data: there is none of this name"),
    (whatif.volume_claim_exists("data"), "PersistentVolumeClaim data: there is one of this name"),
    (whatif.no_storage_capacity("kube-system/fast"), "CSIStorageCapacity kube-system/fast: there is none of this name"),
    (whatif.no_network_topology("team/train"), "job team/train: its spec has no networkTopology"),
    (
        whatif.no_pods_without_podgroup("team/train"),
        "job team/train: no pods name a PodGroup of this name that does not exist",
    ),
    (whatif.no_job("team/train"), "job team/train: there is none of this name"),
    (whatif.no_sub_group_policy("team/train", 3), "job team/train: its spec has no subGroupPolicy[3]"),
    (whatif.no_sub_group_topology("team/train", 3), "job team/train: its subGroupPolicy[3] has no networkTopology"),
    (whatif.no_pod_in_job("team", "p-0", "team/train"), "pod team/p-0: there is none of this name in team/train"),
    (whatif.no_node("n1"), "node n1: there is none of this name"),
    (whatif.no_queue("q"), "queue q: there is none of this name"),
    (whatif.queue_left_out("q"), "Queue q: was left out"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
