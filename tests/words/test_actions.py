"""All that the actions, the arbitrator, the reading of HyperNodes, and the checker say."""

from __future__ import annotations

import pytest

from vsched.actions import words as actions
from vsched.arbitrator import words as arbitrator
from vsched.kernels.topology import words as topology
from vsched.proof import words as proof

SAID: list[tuple[str, str]] = [
    # -- actions -------------------------------------------------------------------------------------------------------
    (actions.ERRORS_REUSED, "what holds for one pod is always reused for its like"),
    (actions.ONE_AFTER_THE_OTHER, "one node is tried after the other"),
    (actions.queue_overused("a"), "queue a holds all that it deserves"),
    (actions.room_for("0/3 nodes are available.", 2, 4), "0/3 nodes are available. There is room for 2 of 4."),
    (
        actions.also("0/3 nodes are available.", "queue a is closed"),
        "0/3 nodes are available. Also, queue a is closed.",
    ),
    (actions.not_in("r1 of tier 1", "no room"), "; not in r1 of tier 1: no room"),
    (actions.not_tried(3), "; 3 more with room were not tried"),
    (
        actions.may_evict_from("14:05", "too young", reclaims=True),
        "it can reclaim from other queues from 14:05 UTC at the earliest (too young)",
    ),
    (
        actions.may_evict_from("14:05", "too young", reclaims=False),
        "it can preempt other jobs from 14:05 UTC at the earliest (too young)",
    ),
    (actions.of_sub_group("w/a", "no room"), "sub-group w/a: no room"),
    (actions.of_sub_group("w", actions.of_sub_group("w/a", "no room")), "sub-group w/a: no room"),
    (actions.sub_group_lacks_groups("w", 2), "sub-group w needs 2 of its groups, and these have too few pods"),
    (actions.sub_group_lacks_pods("w/a", 3, 1), "sub-group w/a needs 3 pods, and 1 exists"),
    (actions.sub_group_lacks_pods("w/a", 3, 2), "sub-group w/a needs 3 pods, and 2 exist"),
    # -- the arbitrator ------------------------------------------------------------------------------------------------
    (arbitrator.WITHIN, "within its limits, and within what it deserves or no namespace is short"),
    (arbitrator.older_counts("c"), "Consumer c of this namespace is older and counts instead"),
    (arbitrator.no_bucket("b"), "there is no Bucket b: it counts as one without limits and reservation, of weight 1"),
    (arbitrator.beyond_own_limit("2 cpu"), "holds 2 cpu more than its hard limit"),
    (arbitrator.bucket_beyond_limit("2 cpu"), "its namespaces hold 2 cpu more than its hard limit"),
    (arbitrator.beyond_deserved("2 cpu", "", ["a"]), "holds 2 cpu more than it deserves while a is short"),
    (
        arbitrator.beyond_deserved("2 cpu", "b", []),
        "holds 2 cpu more than it deserves while bucket b holds more than its hard limit",
    ),
    (
        arbitrator.beyond_deserved("2 cpu", "b", ["a", "c"]),
        "holds 2 cpu more than it deserves while bucket b holds more than its hard limit and a, c are short",
    ),
    (
        arbitrator.beyond_deserved("2 cpu", "", ["a", "b", "c", "d", "e"]),
        "holds 2 cpu more than it deserves while a, b, c and 2 more are short",
    ),
    (arbitrator.reservation_cut("1 of 2 cpu", limited=True), "limits are below it: in force: 1 of 2 cpu"),
    (
        arbitrator.reservation_cut("1 of 2 cpu", limited=False),
        "all reservations together exceed the cluster: in force: 1 of 2 cpu",
    ),
    (arbitrator.THE_QUOTA, "the ResourceQuota of the namespace"),
    (arbitrator.THE_CLUSTER, "the cluster's"),
    (arbitrator.limit_of_bucket("b"), "bucket b's hard limit of"),
    (
        arbitrator.circle("c", "b", ["b", "c", "b"]),
        "spec.parent: c (expected a bucket that is not in this one: b is in b in c in b)",
    ),
    (arbitrator.too_deep("c", 8), "spec.parent: c (expected at most 8 buckets above one another)"),
    (
        arbitrator.above_bound("spec.hard.cpu: 4", "2", arbitrator.THE_QUOTA),
        "spec.hard.cpu: 4 (expected at most 2, the ResourceQuota of the namespace)",
    ),
    (
        arbitrator.reserves_too_much("spec.reserved.cpu: 4", "6", arbitrator.limit_of_bucket("b"), "3"),
        "spec.reserved.cpu: 4 (expected to be within bucket b's hard limit of 6, of which others reserve 3)",
    ),
    (
        arbitrator.reserves_too_much("spec.reserved.cpu: 4", "3", arbitrator.THE_CLUSTER, ""),
        "spec.reserved.cpu: 4 (expected to be within the cluster's 3)",
    ),
    # -- HyperNodes ----------------------------------------------------------------------------------------------------
    (topology.unread("h1", "spec: missing"), "HyperNode h1 cannot be read: spec: missing"),
    (
        topology.bad_pattern("h1", "unbalanced parenthesis"),
        "HyperNode h1 has a pattern that cannot be used: unbalanced parenthesis",
    ),
    (
        topology.two_parents("h1", "h2", "h3"),
        "HyperNode h1 is a member of h2 and of h3, and may be a member of one only",
    ),
    (topology.not_below("h1", 2, "h2", 1), "HyperNode h1 has tier 2, and its parent h2 tier 1, which has to be higher"),
    (topology.circle(["h1", "h2", "h1"]), "HyperNodes contain each other: h1 in h2 in h1"),
    (
        topology.node_in_two("n1", "h1", "h2"),
        "node n1 is in HyperNode h1 and in HyperNode h2, and neither contains the other",
    ),
    (topology.missing(["HyperNode h1", "node n1"], 0), "not there yet: HyperNode h1, node n1"),
    (topology.missing(["HyperNode h1", "node n1"], 3), "not there yet: HyperNode h1, node n1 and 3 more"),
    # -- the checker ---------------------------------------------------------------------------------------------------
    (proof.lacks_pods(1, 2), "1 of the 2 pods that it needs"),
    (proof.lacks_of_role(1, 2, "ps"), "1 of the 2 pods that its role ps needs"),
    (proof.lacks_sub_groups(1, 2, "w"), "1 of the 2 complete sub-groups that it needs of w"),
    (proof.bound_where_forbidden("ns/a.0", "n1", proof.OTHER_NODE), "ns/a.0 is bound to n1, and names another node"),
    (
        proof.bound_where_forbidden("ns/a.0", "n1", proof.NOT_SELECTED),
        "ns/a.0 is bound to n1, which its node selector does not match",
    ),
    (
        proof.bound_where_forbidden("ns/a.0", "n1", proof.NO_AFFINITY),
        "ns/a.0 is bound to n1, which its node affinity does not match",
    ),
    (
        proof.bound_where_forbidden("ns/a.0", "n1", proof.not_tolerated("gpu")),
        "ns/a.0 is bound to n1, whose taint gpu it does not tolerate",
    ),
    (proof.not_apart("ns/a.0", "ns/b.0"), "ns/a.0 and ns/b.0 are in one domain, and have to be apart"),
    (proof.port_taken("ns/a.0", "n1", 80), "ns/a.0 is bound to n1, where port 80 is taken"),
    (proof.device_given_twice("gpu-0", "n1", "ns/c", "ns/d"), "device gpu-0 of n1 goes to ns/c and to ns/d"),
    (proof.claim_of("ns", "a.0"), "the claim of ns/a.0"),
    (proof.too_much_bound("n1", "cpu 2"), "n1 is bound cpu 2, of which it had less idle"),
    (proof.too_much_kept("cpu 2", "n1"), "cpu 2 is kept on n1, more than there will be"),
    (proof.starts_with("ns/a", "1 of the 2 pods that it needs"), "ns/a starts with 1 of the 2 pods that it needs"),
    (
        proof.kept_in_part("ns/a", "1 of the 2 pods that it needs"),
        "room is kept for ns/a, which would start with 1 of the 2 pods that it needs",
    ),
    (
        proof.waits_for_nothing("ns/a", 2),
        "ns/a waits, and 2 of its pods fit idle nodes, which is enough for it to go on",
    ),
    (proof.holds_more("a", "cpu 4", "cpu 2"), "queue a holds cpu 4 of at most cpu 2"),
    (proof.takes_guaranteed("a", "cpu 2"), "queue a takes cpu 2 of what is guaranteed to others"),
    (proof.holds_more_than_deserved("a", "cpu 4", "cpu 2"), "queue a holds cpu 4 of cpu 2"),
    (
        proof.reported_otherwise("a", {"cpu": 1000}, {"cpu": 2000}),
        "queue a is reported to hold {'cpu': 1000}, and holds {'cpu': 2000}",
    ),
    (proof.may_not_leave("ns/a.0", "preempt", proof.NOT_RUNNING), "ns/a.0 is evicted by preempt, and does not run"),
    (
        proof.may_not_leave("ns/a.0", "preempt", proof.NOT_PREEMPTABLE),
        "ns/a.0 is evicted by preempt, and is not preemptable",
    ),
    (
        proof.may_not_leave("ns/a.0", "preempt", proof.JOB_NOT_PREEMPTIBLE),
        "ns/a.0 is evicted by preempt, and belongs to a job that is not preemptible",
    ),
    (
        proof.may_not_leave("ns/a.0", "preempt", proof.JOB_NOT_PREEMPTABLE),
        "ns/a.0 is evicted by preempt, and belongs to a job that is not preemptable",
    ),
    (
        proof.may_not_leave("ns/a.0", "preempt", proof.OF_THE_CLUSTER),
        "ns/a.0 is evicted by preempt, and is one of the cluster's own",
    ),
    (
        proof.may_not_leave("ns/a.0", "preempt", proof.JUST_PLACED),
        "ns/a.0 is evicted by preempt, and was placed a moment ago",
    ),
    (proof.out_of_reach("ns/a.0", "reclaim", proof.FOR_NOBODY), "ns/a.0 is evicted by reclaim for nobody"),
    (
        proof.out_of_reach("ns/a.0", "reclaim", proof.OF_NO_JOB),
        "ns/a.0 is evicted by reclaim though it belongs to no job",
    ),
    (
        proof.out_of_reach("ns/a.0", "reclaim", proof.queues_not_as_asked("a", "a")),
        "ns/a.0 is evicted by reclaim though its queue is a, and that of the job that it leaves for a",
    ),
    (
        proof.out_of_reach("ns/a.0", "reclaim", proof.not_reclaimable("a")),
        "ns/a.0 is evicted by reclaim and its queue a is not reclaimable",
    ),
    (
        proof.out_of_reach("ns/a.0", "gangpreempt", proof.JOB_NO_LESS),
        "ns/a.0 is evicted by gangpreempt and its job is no less than the one that it leaves for",
    ),
    (
        proof.out_of_reach("ns/a.0", "preempt", proof.never_preempts("ns/b")),
        "ns/a.0 is evicted by preempt for ns/b, whose pods never preempt",
    ),
    (proof.budget_exceeded(2, "ns/guard", 1), "2 pods of budget ns/guard leave, of 1"),
    (proof.in_two_budgets("ns/a.0"), "ns/a.0 is in two budgets"),
    (
        proof.moved_wrongly("ns/a.0", "n2", proof.NOT_MADE_AGAIN),
        "ns/a.0 is moved to n2, and no controller makes a new one for another node",
    ),
    (proof.moved_wrongly("ns/a.0", "n9", proof.NO_PLACE), "ns/a.0 is moved to n9, which is no node"),
    (proof.moved_wrongly("ns/a.0", "n1", proof.SAME_NODE), "ns/a.0 is moved to n1, which it leaves"),
    (proof.too_much_moved("cpu 2", "n2"), "cpu 2 is moved to n2, which has less idle"),
    (
        proof.loses_pods("ns/a", {"reclaim", "preempt"}, proof.LEAVES_IN_PART),
        "ns/a loses pods to preempt, reclaim, and leaves in part, and says that it leaves as a whole",
    ),
    (
        proof.loses_pods("ns/a", {"preempt"}, proof.left_with("1 of the 2 pods that it needs")),
        "ns/a loses pods to preempt, and is left with 1 of the 2 pods that it needs",
    ),
    (proof.taker_incomplete("ns/b", proof.GETS_NO_ROOM), "pods are evicted for ns/b, which gets no room"),
    (
        proof.taker_incomplete("ns/b", proof.then_has("1 of the 2 pods that it needs")),
        "pods are evicted for ns/b, which then has 1 of the 2 pods that it needs",
    ),
    (
        proof.bad_eviction("ns/a.0", "ns/b", proof.leaves_queue("a", "cpu 1", "cpu 2")),
        "the eviction of ns/a.0 for ns/b leaves queue a cpu 1 of cpu 2 that are its own",
    ),
    (
        proof.leaves_in_vain(["ns/a.0", "ns/a.1"], "ns/b"),
        "ns/a.0, ns/a.1 leaves in vain: what is placed of ns/b fits without it",
    ),
    (proof.out_of_turn("ns/a.0", "a", "b"), "ns/a.0 leaves queue a, which held less of its share than b still has"),
]


@pytest.mark.parametrize(("said", "words"), SAID, ids=[words for _, words in SAID])
def test_words(said: str, words: str) -> None:
    assert said == words
