"""What explanations say: of claims, of estimates, of ways to let a gang start, and of what keeps jobs waiting."""

from __future__ import annotations

from math import inf

from vsched.explain.claims import words as claims
from vsched.explain.estimate import words as estimate
from vsched.explain.menu import words as menu
from vsched.explain.why import words as why
from vsched.explain.words import phrases
from vsched.framework.codes import NoStart

SENTENCES = [
    # explain/words/phrases
    (phrases.WAITS_FOR_NOTHING, "it waits for nothing"),
    (phrases.NEEDS_NO_MOVES, "it has room without any move"),
    (phrases.no_moves(""), "no moves were found for it"),
    (
        phrases.no_moves("no node fits: 1 has too little cpu"),
        "no moves were found that would make room for it: no node fits: 1 has too little cpu",
    ),
    # explain/claims/words
    (claims.DOES_NOT_EXIST, "does not exist"),
    (
        claims.not_free_together("ResourceClaim", "gpus", "2 of class gpu"),
        "ResourceClaim gpus asks for 2 of class gpu; no node has these free together",
    ),
    (claims.did_you_mean("DeviceClass", "gpu"), "did you mean DeviceClass gpu?"),
    (claims.do_not_exist("ResourceClaims a, b"), "ResourceClaims a, b do not exist"),
    (claims.of_class("2", "gpu"), "2 of class gpu"),
    (claims.and_of_each("memory 10Gi"), "and memory 10Gi of each"),
    (claims.not_made_from_template("big"), "is not made yet from ResourceClaimTemplate big"),
    (claims.BEING_DELETED, "is being deleted"),
    (claims.asks_for_lost_class("gpu"), "asks for DeviceClass gpu, which does not exist"),
    (claims.NO_DEVICES_YET, "has no devices yet"),
    (
        claims.devices_failed("has 1 device: n1/gpu-0", "LinkDown"),
        "has 1 device: n1/gpu-0; their condition LinkDown says that they cannot be used",
    ),
    (claims.being_prepared("has 1 device: n1/gpu-0"), "has 1 device: n1/gpu-0; they are being prepared"),
    (claims.has_devices(1, "on node n1", "n1/gpu-0"), "has 1 device on node n1: n1/gpu-0"),
    (claims.has_devices(2, "", "n1/gpu-0, n1/gpu-1"), "has 2 devices: n1/gpu-0, n1/gpu-1"),
    (
        claims.reserved_for_most("has 1 device: n1/gpu-0", 256),
        "has 1 device: n1/gpu-0; reserved for 256 pods, the maximum",
    ),
    (claims.reserved_for("has 1 device: n1/gpu-0", "2 pods"), "has 1 device: n1/gpu-0; reserved for 2 pods"),
    (claims.fewer_in_all("2 of class gpu", 5), "its pods ask for 2 of class gpu together, and there are 5 in all"),
    (claims.fewer_free("2 of class gpu", 3, 5), "its pods ask for 2 of class gpu together, 3 are free (5 in all)"),
    (claims.SLICES_MISSING, "some of its slices do not exist yet"),
    (
        claims.pool_cannot_be_used("h100", "gpu.example.com", "it is gone"),
        "pool h100 of gpu.example.com cannot be used: it is gone",
    ),
    (
        claims.not_tolerated(1, ["gpu=yes:NoSchedule"], more=True),
        "; 1 more has the taint gpu=yes:NoSchedule, which the claim does not tolerate",
    ),
    (
        claims.not_tolerated(2, ["gpu=yes:NoSchedule"], more=True),
        "; 2 more have the taint gpu=yes:NoSchedule, which the claim does not tolerate",
    ),
    (
        claims.not_tolerated(1, ["gpu=yes:NoSchedule"], more=False),
        "; 1 matches, but has the taint gpu=yes:NoSchedule, which the claim does not tolerate",
    ),
    (
        claims.not_tolerated(2, ["a:NoSchedule", "b:NoExecute"], more=False),
        "; 2 match, but have taints, as a:NoSchedule, which the claim does not tolerate",
    ),
    (claims.no_device_matches("2 of class gpu"), "2 of class gpu asked, and no device matches"),
    (claims.no_node_has_more("4 of class gpu", 2, 3), "4 of class gpu asked, and no node has more than 2 (3 in all)"),
    (
        claims.free_on_one_node(1, "2 of class gpu", 3, 5),
        "1 of 2 of class gpu are free on any one node (3 of 5 in all)",
    ),
    (claims.devices_of("net"), "devices of net"),
    (claims.or_other_places(3), " or 3 other places"),
    (claims.in_zone("a"), "in zone a"),
    (claims.in_region("eu"), "in region eu"),
    (claims.on_node("n1"), "on node n1"),
    (claims.where_not("zone", "a or b"), "where zone is not a or b"),
    (claims.of_storage_class("fast"), " of class fast"),
    (claims.NOT_MADE_YET, "is not made yet"),
    (claims.NOT_MADE_FOR_ITS_PODGROUP, "was not made for its PodGroup"),
    (claims.NOT_MADE_FOR_THIS_POD, "was not made for this pod"),
    (claims.VOLUME_LOST, "is lost: its volume is gone"),
    (claims.volume_chosen("pv-1"), "PersistentVolume pv-1 is chosen but not bound yet"),
    (claims.volume_being_made("n1"), "a volume is being made for node n1"),
    (claims.bound_to_lost_volume("pv-1"), "is bound to PersistentVolume pv-1, which does not exist"),
    (claims.bound_to("pv-1", ""), "is bound to PersistentVolume pv-1"),
    (claims.bound_to("pv-1", "in zone a"), "is bound to PersistentVolume pv-1, usable in zone a"),
    (claims.NO_VOLUME_WITHOUT_CLASS, "is not bound: it names no storage class and no volume without a class is free"),
    (claims.lost_storage_class("fast"), "cannot be bound: StorageClass fast does not exist"),
    (
        claims.bound_before_placing("fast"),
        "is not bound: the volume controller binds claims of class fast before pods are placed",
    ),
    (claims.free_volumes(1, large=False), "1 volume of its class is free"),
    (claims.free_volumes(2, large=True), "2 volumes of its class are free and large enough"),
    (
        claims.gets_volume(claims.free_volumes(1, large=False)),
        "gets a volume with the pod's node: 1 volume of its class is free",
    ),
    (claims.gets_new_volume("", ""), "gets a volume with the pod's node: one can be made"),
    (
        claims.gets_new_volume("in zone a", claims.free_volumes(2, large=True)),
        "gets a volume with the pod's node: one can be made in zone a, 2 volumes of its class are free "
        "and large enough",
    ),
    # explain/estimate/words
    (estimate.not_to_be_said(estimate.TOOK_TOO_LONG).message, "unknown: it took too long"),
    (estimate.unknown_durations(["team/a"], 1), "1 running job of unknown duration (team/a) holds what it needs"),
    (
        estimate.unknown_durations(["team/a", "team/b"], 5),
        "2 running jobs of unknown duration (such as team/a) hold what it needs",
    ),
    (
        estimate.unknown_durations(["team/a", "team/b"], 2),
        "some of 2 running jobs of unknown duration (such as team/a) hold what it needs",
    ),
    (
        estimate.told(estimate.Foreseen(0.0, 3600.0, 7200.0, [], ["team/b"])).message,
        "between 01:00 and 02:00 UTC (in 1h to 2h), after 1 job that goes first",
    ),
    (
        estimate.told(estimate.Foreseen(0.0, 3600.0, 7200.0, [], ["team/b", "team/c"], sooner=["team/d"])).message,
        "at 02:00 UTC at the latest (in 2h), after 2 jobs that go first; earlier if team/d ends, whose "
        "duration is unknown",
    ),
    (
        estimate.told(estimate.Foreseen(0.0, 3600.0, inf, [], [], cut_short=True)).message,
        "not before 01:00 UTC (in 1h); too many jobs go first to estimate how late",
    ),
    (
        estimate.told(estimate.Foreseen(0.0, 3600.0, inf, [], [], sooner=["team/d", "team/e"])).message,
        "not before 01:00 UTC (in 1h); so early only if some of 2 jobs of unknown duration end (such as "
        "team/d); how late is unknown",
    ),
    (estimate.when(0.0, 0.0, 0.0), "now"),
    (estimate.when(0.0, 300.0, 300.0), "about 00:05 UTC (in 5m)"),
    (estimate.when(0.0, 0.0, 7200.0), "between now and 02:00 UTC (in 2h at the latest)"),
    (estimate.when(0.0, 3600.0, 7200.0), "between 01:00 and 02:00 UTC (in 1h to 2h)"),
    (estimate.when(0.0, 0.0, inf), "from now on"),
    (estimate.when(0.0, 3600.0, inf), "not before 01:00 UTC (in 1h)"),
    (estimate.NO_KNOWN_END, "no work with a known end frees enough"),
    (estimate.TOOK_TOO_LONG, "it took too long"),
    (estimate.declared_for_years(10), "work is declared to hold its resources for more than 10 years, as declared"),
    (estimate.TOO_MANY_GO_FIRST, "too many jobs go first to estimate its start"),
    (estimate.NO_WORK_WOULD_FREE, "no running work with a known end would free enough room"),
    # explain/menu/words
    (menu.WITHOUT_PODS, "its pods do not exist yet: this is what would let it be admitted"),
    (
        menu.then_lacks_nodes("1 more cpu in queue q (capability 4)"),
        "1 more cpu in queue q (capability 4), and then it lacks nodes",
    ),
    (menu.NO_KIND_FITS, "no available kind of node fits one of its pods, even if empty"),
    (menu.node_too_small("4", "cpu", "8"), "a node has 4 cpu, and a pod asks for 8"),
    (menu.more_would_start(8, menu.of_pool("h100"), "", 8), "8 more of pool h100 would start it"),
    (
        menu.more_would_start(8, menu.of_pool("h100"), "1 more cpu in queue q (capability 4)", 6),
        "8 more of pool h100 would start it, with 1 more cpu in queue q (capability 4); 6 if other jobs "
        "did not go first",
    ),
    (
        menu.several_would_start([(1, menu.of_pool("cpu")), (2, menu.like_node("n1"))]),
        "1 more of pool cpu and 2 more like node n1 would start it",
    ),
    (menu.all_more_of_pool(64, "h100"), "the 64 more that pool h100 may have"),
    (menu.up_to_more(64, "of pool h100"), "up to 64 more of pool h100"),
    (
        menu.would_not_start(menu.up_to_more(8, menu.like_node("n1")), ""),
        "up to 8 more like node n1 would not start it",
    ),
    (
        menu.would_not_start(menu.all_more_of_pool(2, "h100"), "team/train waits"),
        "the 2 more that pool h100 may have would not start it: team/train waits",
    ),
    (menu.NO_LIMIT_WOULD_START, "raising no limit of its queue or namespace would start it"),
    (menu.OUT_OF_TIME, "unknown: the search ran out of time"),
    (menu.like_node("n1"), "like node n1"),
    (menu.of_pool("h100"), "of pool h100"),
    (menu.NOBODY_HOLDS, "no running job holds what it needs"),
    (menu.NO_END_WOULD_START, "even the end of all jobs that hold what it needs would not start it"),
    (
        menu.would_have_to_end("2 jobs", "team/a, team/b"),
        "the end of 2 jobs: team/a, team/b; the policy would not evict for it",
    ),
    (menu.would_wait_instead("team/train", 5), "team/train (priority 5) would wait instead"),
    (menu.would_go("2 pods", "team/a", 5), "2 pods of team/a (priority 5) would go"),
    # explain/why/words
    (why.gates_hold_back(1), "scheduling gates hold back 1 pod"),
    (why.gates_hold_back(2), "scheduling gates hold back 2 pods"),
    (why.role_not_named(1, "ps"), "1 pod has role ps, which minTaskMember does not name"),
    (why.role_not_named(2, "ps"), "2 pods have role ps, which minTaskMember does not name"),
    (why.NO_CONTROLLER, "no controller owns its pods, so more have to be created by hand"),
    (why.in_one_domain("tier 1 (rack)"), " in one domain of tier 1 (rack)"),
    (why.of_role("ps"), "of role ps "),
    (why.NO_JOB, "work without a job"),
    (why.HOLDS_OR_RESERVES, "holds or reserves"),
    (why.running_now("team/a, team/b", " and 2 others"), "running now: team/a, team/b and 2 others"),
    (why.of_class("gpu"), "of class gpu"),
    (why.host_port_used("80"), "host port 80 is used by"),
    (why.ANTI_AFFINITY, "its anti-affinity rules it out beside"),
    (why.ANTI_AFFINITY_OF, "it is ruled out by the anti-affinity of"),
    (why.pod_slots_taken("node n1", "team/a holds 2 pods"), "all pod slots of node n1 are taken: team/a holds 2 pods"),
    (
        why.too_little_free(1, "8", "cpu", "2", "node n1", "", "team/a holds 4"),
        "a pod asks for 8 cpu, 2 free on node n1: team/a holds 4",
    ),
    (
        why.too_little_free(2, "8", "cpu", "6", "3 nodes", why.at_most_on_one("4", "n1"), "team/a holds 4"),
        "2 pods ask for 8 cpu each, 6 free on 3 nodes, 4 at most on one (n1): team/a holds 4",
    ),
    (why.at_most_on_one("64", "n1"), ", 64 at most on one (n1)"),
    (why.WHY_NO_START[NoStart.DEPTH], "easy-backfill already plans as many starts as its depth allows"),
    (why.WHY_NO_START[NoStart.LEFT_OUT], "reserveFor of easy-backfill leaves it out for now"),
    (
        why.WHY_NO_START[NoStart.RUNNING_JOBS],
        "limits on running jobs would not let it start, even when all work with a known end has ended",
    ),
    (why.WHY_NO_START[NoStart.WALL_TIME], "its wall time is over, or it asks for more than is allowed"),
    (why.WHY_NO_START[NoStart.INCOMPLETE], "too few of its pods exist and can be placed"),
    (why.WHY_NO_START[NoStart.NOT_SOUGHT], "no start was found for many jobs before it, so the search stopped"),
    (
        why.WHY_NO_START[NoStart.LIMITS],
        "its queue or namespace would not admit it, even when all work with a known end has ended",
    ),
    (
        why.WHY_NO_START[NoStart.ROOM],
        "the nodes would have too little free, even when all work with a known end has ended",
    ),
    (
        why.WHY_NO_START[NoStart.DEVICES],
        "too few of the devices that it claims would be free, even when all work with a known end has ended",
    ),
    (
        why.others_until_its_start("job team/b"),
        "until its start, job team/b may use its nodes: started after it began to wait",
    ),
    (why.goes_before("team/b"), "it goes before team/b, on nodes that are reserved for the start of that job"),
    (
        why.not_planned(NoStart.DEPTH),
        "not planned: easy-backfill already plans as many starts as its depth allows (DepthReached)",
    ),
    (why.NOT_PREEMPTABLE, "they may not be preempted"),
    (why.KEPT, "their jobs are protected by their preemptibility (vsched.io/preemptibility)"),
    (why.REFUSED, "the API server refused to evict them; it is asked again within 5m"),
    (why.NO_RECLAIM, "other queues hold more than they deserve, but the policy has no reclaim action"),
    (
        why.may_evict_later("it waits for its preemption delay", "14:05 UTC (in 5m)"),
        "it waits for its preemption delay: it may evict others at 14:05 UTC (in 5m)",
    ),
    (why.not_reclaimable(["a"]), "queue a holds more than it deserves and is not reclaimable"),
    (why.not_reclaimable(["a", "b"]), "queues a and b hold more than they deserve and are not reclaimable"),
    (why.OTHERS_OF_QUEUE, "other jobs of its queue"),
    (
        why.protected(why.OTHERS_OF_QUEUE, 1, why.NOT_PREEMPTABLE),
        "evicting pods of other jobs of its queue would make room on 1 node, but they are protected: they "
        "may not be preempted",
    ),
    (
        why.protected("other queues", 2, why.KEPT),
        "evicting pods of other queues would make room on 2 nodes, but they are protected: their jobs are "
        "protected by their preemptibility (vsched.io/preemptibility)",
    ),
    (why.NEVER_PREEMPTS, "its pods do not preempt: their preemptionPolicy is Never"),
    (why.may_not_reclaim("q"), "queue q may not reclaim: it would hold more than it deserves"),
    (why.asks_for_node("n1", exists=True), "its node affinity asks for node n1"),
    (why.asks_for_node("n1", exists=False), "its node affinity asks for node n1, which does not exist"),
    (why.node_selector_is("zone=a"), "its node selector is zone=a"),
    (why.node_affinity("zone=a"), "its node affinity asks for zone=a"),
    (why.pod_affinity("", "zone"), "its pod affinity asks for a pod with the same zone, and no such pod is on a node"),
    (
        why.pod_affinity("app=web", "zone"),
        "its pod affinity asks for a pod with app=web with the same zone, and no such pod is on a node",
    ),
    (
        why.spread_label("zone", "1 of 3 nodes lacks it"),
        "its topology spread constraints name the label zone: 1 of 3 nodes lacks it",
    ),
    (
        why.too_few_domains(3, "zone", 2),
        "its topology spread constraints ask for 3 domains by zone (minDomains), and there are 2",
    ),
    (
        why.used_by_pod("data", "ReadWriteOncePod", "team/p-0"),
        "PersistentVolumeClaim data (ReadWriteOncePod) is used by pod team/p-0",
    ),
    (
        why.can_attach_no_more("n1", 1, "ebs.csi.aws.com", "team/p-0", 0),
        "node n1 can attach 1 volume of ebs.csi.aws.com: used by pod team/p-0",
    ),
    (
        why.can_attach_no_more("n1", 8, "ebs.csi.aws.com", "team/p-0", 2),
        "node n1 can attach 8 volumes of ebs.csi.aws.com: used by pod team/p-0 and 2 others",
    ),
    (why.no_nodes_requested("it is gone"), "no nodes are requested: it is gone"),
    (why.JOBS_OF_QUEUE, "jobs of its queue"),
    (why.non_preemptible("others"), "no pod of it is evicted for others: it is non-preemptible"),
    (
        why.non_preemptible(why.JOBS_OF_QUEUE_AND_UNDER_SHARE),
        "no pod of it is evicted for jobs of its queue, nor for others while its queue holds no more than "
        "it deserves: it is non-preemptible",
    ),
    (why.semi_preemptible(1, 3), "1 of its 3 pods may be evicted for others: it is semi-preemptible"),
    (
        why.JOBS_OF_QUEUE_AND_UNDER_SHARE,
        "jobs of its queue, nor for others while its queue holds no more than it deserves",
    ),
    (
        why.not_evicted(3, 3, why.JOBS_OF_QUEUE, "yet", "plugin minruntime"),
        "no pod of it is evicted for jobs of its queue yet: plugin minruntime",
    ),
    (
        why.not_evicted(1, 3, "other queues", "until 14:05 UTC (in 5m)", "plugin minruntime"),
        "1 of its 3 pods is not evicted for other queues until 14:05 UTC (in 5m): plugin minruntime",
    ),
    (
        why.not_evicted(2, 3, "other queues", "yet", "plugin minruntime"),
        "2 of its 3 pods are not evicted for other queues yet: plugin minruntime",
    ),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
