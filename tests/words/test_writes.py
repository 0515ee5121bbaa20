"""What is said of writes to the API server, and of claims that are written."""

from __future__ import annotations

from vsched.writes import words as writes
from vsched.writes.claims import words as claims

SENTENCES = [
    # writes/words
    (writes.pod_cannot_be_read(ValueError("it is gone")), "the pod cannot be read: it is gone"),
    (writes.STOPPING, "the scheduler is stopping"),
    (writes.WALL_TIME_IS_OVER, "the wall time of its job is over"),
    (writes.NOT_THE_LEADER, "not sent: this process is not the leader"),
    (writes.MORE_THAN_ONE_BUDGET, "more than one PodDisruptionBudget"),
    (
        writes.node_is_locked("volcano.sh/lock", "2026-08-01T03:00:00Z"),
        "the node is locked by its annotation volcano.sh/lock: '2026-08-01T03:00:00Z'",
    ),
    (writes.node_cannot_be_locked("it is gone"), "the node cannot be locked: it is gone"),
    (writes.node_cannot_be_read(ValueError("it is gone")), "the node cannot be read: it is gone"),
    (writes.NO_NODE, "the node cannot be read: it is no Node"),
    (writes.no_event("Queue", "q"), "no Event about the problem of Queue 'q'"),
    (writes.key_is_dropped("team/train"), "what was to be written of 'team/train' is dropped"),
    (writes.queue_is_full("binding"), "the queue of bindings is full"),
    (writes.item_is_dropped("binding", "team", "p-0"), "the binding of team/p-0 is dropped"),
    (writes.not_sent("it is gone"), "not sent: it is gone"),
    (writes.HYPERNODES_CANNOT_BE_WRITTEN, "HyperNode statuses cannot be written"),
    (writes.MINIMUM_IS_PLACED, "its minimum is placed"),
    (writes.failed_and_retries("it is gone"), "the scheduler failed and retries: it is gone"),
    (writes.assigned("team", "p-0", "n1"), "Successfully assigned team/p-0 to n1"),
    (writes.binding_failed("n1", "it is gone"), "binding to n1 failed: it is gone"),
    (writes.not_bound_to("n1", "it is gone"), "not bound to n1: it is gone"),
    (writes.not_bound("it is gone"), "not bound: it is gone"),
    (writes.evicted_from("n1", "preempted by team/train"), "Evicted from n1: preempted by team/train"),
    (writes.pods_evicted("preempted by team/train"), "Pods evicted: preempted by team/train"),
    (writes.makes_room_for("team/train"), "moved to make room for team/train"),
    (writes.DEFRAGMENTS, "moved so that free devices stay usable"),
    (
        writes.has_room_on(writes.makes_room_for("team/train"), "n2"),
        "moved to make room for team/train; it has room on n2",
    ),
    (
        writes.evict_each_other("team/b", 5),
        "evicts pods of team/b, which evicted its own: neither may evict the other's for 5 s",
    ),
    (writes.asked_to_end("preempted by team/train"), "Asked to end by itself: preempted by team/train"),
    (writes.pods_asked_to_end("preempted by team/train"), "Pods asked to end by themselves: preempted by team/train"),
    (writes.no_longer_asked_to_end("it is gone"), "No longer asked to end: it is gone"),
    (writes.pods_no_longer_asked_to_end("it is gone"), "Pods no longer asked to end: it is gone"),
    (writes.server_answers(503), "the API server answers 503"),
    (writes.namespace_being_deleted("team"), "not sent: the namespace team is being deleted"),
    # writes/claims/words
    (
        claims.other_devices("ResourceClaim", "team/gpus"),
        "ResourceClaim team/gpus was given other devices in the meantime",
    ),
    (claims.no_devices_any_more("ResourceClaim", "team/gpus"), "ResourceClaim team/gpus has no devices any more"),
    (claims.reserved_for_most(3, 64), "is reserved for 3 of at most 64 pods"),
    (
        claims.device_cannot_be_made_ready("device gpu-0 of ResourceClaim team/gpus", "Broken"),
        "device gpu-0 of ResourceClaim team/gpus cannot be made ready: Broken",
    ),
    (
        claims.device_is_not_ready("device gpu-0 of ResourceClaim team/gpus", "Warm"),
        "device gpu-0 of ResourceClaim team/gpus is not ready: Warm",
    ),
    (claims.no_class_serves("cpu"), "no DeviceClass serves cpu any more"),
    (claims.asks_for_other_devices("team/p-0"), "pod team/p-0 asks for other devices than those that were chosen"),
    (claims.belongs_to_another("ResourceClaim", "team/gpus"), "ResourceClaim team/gpus belongs to another object"),
    (claims.is_being_deleted("ResourceClaim", "team/gpus"), "ResourceClaim team/gpus is being deleted"),
    (claims.node_is_gone("n1"), "node n1 is gone"),
    (claims.pod_was_deleted("team/p-0"), "pod team/p-0 was deleted"),
    (claims.does_not_exist_any_more("ResourceClaim", "team/gpus"), "ResourceClaim team/gpus does not exist any more"),
    (claims.deleted_and_made_again("ResourceClaim", "team/gpus"), "ResourceClaim team/gpus was deleted and made again"),
    (claims.made_for_no_pod("ResourceClaim", "team", "gpus"), "ResourceClaim team/gpus was made for no pod"),
    (claims.no_class_any_more("x"), "DeviceClass x does not exist any more"),
    (
        claims.changed_before_binding("ResourceClaim", "team/gpus"),
        "ResourceClaim team/gpus was changed before its pods were bound",
    ),
    (
        claims.not_bound_any_more("PersistentVolumeClaim", "team/data"),
        "PersistentVolumeClaim team/data is not bound any more",
    ),
    (claims.WRITTEN, "written: what is written does not last"),
    (
        claims.could_not_be("ResourceClaim", "team/gpus", claims.WRITTEN),
        "ResourceClaim team/gpus could not be written: what is written does not last",
    ),
    (
        claims.answer_cannot_be_read("/api/v1/pods", ValueError("it is cut off")),
        "GET /api/v1/pods: the answer cannot be read: it is cut off",
    ),
    (claims.TOO_MANY_GANGS, "too many gangs are being bound"),
    (claims.claims_left_unchanged("team/train"), "the claims of team/train are left unchanged"),
    (claims.claims_cannot_be_written("it is gone"), "its claims cannot be written: it is gone"),
    (claims.ANOTHER_DECIDES, "another daemon decides"),
    (
        claims.volume_being_made("PersistentVolumeClaim", "team/data", "n1"),
        "a volume for PersistentVolumeClaim team/data is being made on node n1",
    ),
    (claims.was_not_bound("PersistentVolumeClaim", "team/data"), "PersistentVolumeClaim team/data was not bound"),
    (
        claims.volume_reserved_for("PersistentVolume", "pv-1", "team", "data"),
        "PersistentVolume pv-1 is reserved for team/data",
    ),
    (
        claims.volume_cannot_be_used("PersistentVolume", "pv-1", "Released"),
        "PersistentVolume pv-1 cannot be used any more: it is Released",
    ),
    (claims.lost_its_volume("PersistentVolumeClaim", "team/data"), "PersistentVolumeClaim team/data lost its volume"),
    (
        claims.bound_to_another_volume("PersistentVolumeClaim", "team/data", "pv-2", "pv-1"),
        "PersistentVolumeClaim team/data was bound to volume pv-2 instead of pv-1",
    ),
    (
        claims.no_volume_could_be_made("PersistentVolumeClaim", "team/data", "n1"),
        "no volume could be made for PersistentVolumeClaim team/data on node n1",
    ),
    (claims.volume_not_on_node("PersistentVolume", "pv-1", "n1"), "PersistentVolume pv-1 cannot be used on node n1"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
