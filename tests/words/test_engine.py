"""All that the engine says."""

from __future__ import annotations

import pytest

from vsched.framework.refusal import QueueBound, Shortage
from vsched.framework.words import engine, jobs, limits, lists, nodes, victims
from vsched.model.pods.cooperation import EvictionRequest, ResponderAnswer

CPU = Shortage("cpu", held=6000, asked=4000, limit=8000)
TOO_LARGE = Shortage("cpu", held=0, asked=9000, limit=8000)
MEMORY = Shortage("memory", held=0, asked=2 << 30, limit=1 << 30)
SILENT = EvictionRequest(at=0, deadline=50_730)
ANSWERED = EvictionRequest(at=0, deadline=50_730, beneficiary="ns/b", answer=ResponderAnswer(50_400, message="saving"))

SAID: list[tuple[str, str]] = [
    # -- lists ---------------------------------------------------------------------------------------------------------
    (lists.counted(1, "node has", "nodes have"), "1 node has"),
    (lists.counted(2, "node has", "nodes have"), "2 nodes have"),
    (lists.rounded(20), "20"),
    (lists.rounded(21), "more than 20"),
    (lists.rounded(1500), "more than 1000"),
    (lists.listed("queue", ["a"]), "queue a"),
    (lists.listed("queue", ["a", "b"]), "queues a and b"),
    (lists.listed("queue", ["a", "b", "c", "d", "e"]), "queues a, b and 3 more"),
    (lists.listed_jobs(["ns/a", "ns/b"]), "jobs ns/a and ns/b"),
    (lists.listed_jobs(["Deployment ns/a", "ns/b"]), "Deployment ns/a and ns/b"),
    (lists.clock_time(50_730), "14:05:30 UTC"),
    # -- nodes: as kubectl describe shows them -------------------------------------------------------------------------
    (nodes.BEGINNING, "node(s) "),
    (nodes.NO_ROOM, "Insufficient "),
    (nodes.FULL, "Too many pods"),
    (nodes.CORDONED, "node(s) were unschedulable"),
    (nodes.TAINTED, "node(s) had untolerated taint "),
    (nodes.NOT_SELECTED, "node(s) didn't match Pod's node affinity/selector"),
    (nodes.NO_PORTS, "node(s) didn't have free ports for the requested pod ports"),
    (nodes.NO_AFFINITY, "node(s) didn't match pod affinity rules"),
    (nodes.ANTI_AFFINITY, "node(s) didn't match pod anti-affinity rules"),
    (nodes.REPELLED, "node(s) didn't satisfy existing pods anti-affinity rules"),
    (nodes.SKEWED, "node(s) didn't match pod topology spread constraints"),
    (nodes.NO_TOPOLOGY, "node(s) didn't match pod topology spread constraints (missing required label)"),
    (nodes.TOO_FEW_DEVICES, "cannot allocate all claims"),
    (nodes.DEVICES_ELSEWHERE, "resourceclaim not available on the node"),
    (
        nodes.VOLUME_IN_USE,
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
        "in-use by another pod",
    ),
    (nodes.TOO_MANY_VOLUMES, "node(s) exceed max volume count"),
    (nodes.OUT_OF_REACH, "node(s) didn't match PersistentVolume's node affinity"),
    (nodes.NO_VOLUMES, "node(s) didn't find available persistent volumes to bind"),
    (nodes.NO_STORAGE, "node(s) did not have enough free storage"),
    (nodes.OTHER_ZONE, "node(s) had no available volume zone"),
    (nodes.OTHER_SHARD, "node(s) belonged to another shard"),
    (nodes.REFUSED, "node(s) were refused by admission"),
    (nodes.insufficient("cpu"), "Insufficient cpu"),
    (nodes.insufficient("pods"), "Too many pods"),
    (nodes.tainted("gpu", "yes"), "node(s) had untolerated taint {gpu: yes}"),
    (nodes.OTHERS, "reserved for others"),
    (nodes.RESERVED_FOR_OTHERS, "node(s) had resources that are reserved for others"),
    (nodes.A_START, "a planned start"),
    (nodes.RESERVED, "node(s) had resources that are reserved for a planned start"),
    (nodes.RESERVED_IN_QUEUE, "node(s) had enough, but the rest of the queue's limit is reserved for a planned start"),
    (nodes.RESERVED_RUN, "node(s) had enough, but the last job slot is reserved for a planned start"),
    (
        nodes.reserved_elsewhere("a", ""),
        "node(s) had enough, but what queue a may still hold is reserved for a planned start",
    ),
    (
        nodes.reserved_elsewhere("", "ns"),
        "node(s) had enough, but what namespace ns may still hold is reserved for a planned start",
    ),
    (
        nodes.provisioned(1, "ns/a"),
        "node(s) had resources that are reserved for gang ns/a until all its nodes are there",
    ),
    (
        nodes.provisioned(2, "ns/a"),
        "node(s) had resources that are reserved for 2 gangs until all their nodes are there",
    ),
    (
        nodes.with_others(f"2 {nodes.RESERVED_FOR_OTHERS}", "job ns/a"),
        "2 node(s) had resources that are reserved for job ns/a",
    ),
    (nodes.with_others(f"2 {nodes.RESERVED_FOR_OTHERS}", ""), "2 node(s) had resources that are reserved for others"),
    (
        nodes.start_of(["ns/a at 14:05 UTC", "ns/b at 15:00 UTC"]),
        "the start of ns/a at 14:05 UTC and ns/b at 15:00 UTC",
    ),
    (nodes.NO_NODES_KNOWN, "no nodes are known"),
    (nodes.available(0, {}), "no nodes are known"),
    (nodes.available(3, {}), "0/3 nodes are available"),
    (
        nodes.available(3, {nodes.CORDONED: 2, "Insufficient cpu": 1}),
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.",
    ),
    (nodes.none_available(3, "it is closed"), "0/3 nodes are available: it is closed."),
    # -- nodes: the same in sentences ----------------------------------------------------------------------------------
    (nodes.on_nodes([("Insufficient cpu", 3), (nodes.CORDONED, 1)]), "3 nodes have too little cpu, 1 is cordoned"),
    (nodes.on_nodes([]), ""),
    (nodes.said_of_nodes("Insufficient cpu", 1), "has too little cpu"),
    (nodes.said_of_nodes("Insufficient cpu", 2), "have too little cpu"),
    (nodes.said_of_nodes(nodes.tainted("gpu", "yes"), 1), "is tainted {gpu: yes}"),
    (nodes.said_of_nodes(nodes.tainted("drain", ""), 2), "are tainted {drain}"),
    (nodes.said_of_nodes(nodes.FULL, 1), "has no slot for another pod"),
    (nodes.said_of_nodes(nodes.FULL, 2), "have no slot for another pod"),
    (nodes.said_of_nodes(nodes.CORDONED, 1), "is cordoned"),
    (nodes.said_of_nodes(nodes.CORDONED, 2), "are cordoned"),
    (nodes.said_of_nodes(nodes.NOT_SELECTED, 1), "does not match its node selector or affinity"),
    (nodes.said_of_nodes(nodes.NOT_SELECTED, 2), "do not match its node selector or affinity"),
    (nodes.said_of_nodes(nodes.NO_PORTS, 1), "has no free host port for it"),
    (nodes.said_of_nodes(nodes.NO_PORTS, 2), "have no free host port for it"),
    (nodes.said_of_nodes(nodes.NO_AFFINITY, 1), "does not match its pod affinity"),
    (nodes.said_of_nodes(nodes.NO_AFFINITY, 2), "do not match its pod affinity"),
    (nodes.said_of_nodes(nodes.ANTI_AFFINITY, 1), "is ruled out by its pod anti-affinity"),
    (nodes.said_of_nodes(nodes.ANTI_AFFINITY, 2), "are ruled out by its pod anti-affinity"),
    (nodes.said_of_nodes(nodes.REPELLED, 1), "is ruled out by the anti-affinity of other pods"),
    (nodes.said_of_nodes(nodes.REPELLED, 2), "are ruled out by the anti-affinity of other pods"),
    (nodes.said_of_nodes(nodes.SKEWED, 1), "does not match its topology spread constraints"),
    (nodes.said_of_nodes(nodes.SKEWED, 2), "do not match its topology spread constraints"),
    (nodes.said_of_nodes(nodes.NO_TOPOLOGY, 1), "lacks a label that its topology spread constraints name"),
    (nodes.said_of_nodes(nodes.NO_TOPOLOGY, 2), "lack a label that its topology spread constraints name"),
    (nodes.said_of_nodes(nodes.TOO_FEW_DEVICES, 1), "has too few free devices for its ResourceClaims"),
    (nodes.said_of_nodes(nodes.TOO_FEW_DEVICES, 2), "have too few free devices for its ResourceClaims"),
    (nodes.said_of_nodes(nodes.DEVICES_ELSEWHERE, 1), "does not have the devices of its ResourceClaim"),
    (nodes.said_of_nodes(nodes.DEVICES_ELSEWHERE, 2), "do not have the devices of its ResourceClaim"),
    (nodes.said_of_nodes(nodes.TOO_MANY_VOLUMES, 1), "cannot attach more volumes"),
    (nodes.said_of_nodes(nodes.TOO_MANY_VOLUMES, 2), "cannot attach more volumes"),
    (nodes.said_of_nodes(nodes.NO_STORAGE, 1), "has too little free storage"),
    (nodes.said_of_nodes(nodes.NO_STORAGE, 2), "have too little free storage"),
    (nodes.said_of_nodes(nodes.OUT_OF_REACH, 1), "does not reach its PersistentVolume"),
    (nodes.said_of_nodes(nodes.OUT_OF_REACH, 2), "do not reach its PersistentVolume"),
    (nodes.said_of_nodes(nodes.OTHER_ZONE, 1), "is not in the zone of its PersistentVolume"),
    (nodes.said_of_nodes(nodes.OTHER_ZONE, 2), "are not in the zone of its PersistentVolume"),
    (nodes.said_of_nodes(nodes.NO_VOLUMES, 1), "has no volume for its PersistentVolumeClaim"),
    (nodes.said_of_nodes(nodes.NO_VOLUMES, 2), "have no volume for its PersistentVolumeClaim"),
    (nodes.said_of_nodes(nodes.VOLUME_IN_USE, 1), "cannot have its ReadWriteOncePod volume, which another pod uses"),
    (nodes.said_of_nodes(nodes.VOLUME_IN_USE, 2), "cannot have its ReadWriteOncePod volume, which another pod uses"),
    (nodes.said_of_nodes("node(s) were about to retire", 1), "is about to retire"),
    (nodes.said_of_nodes("node(s) weren't in a node group", 2), "aren't in a node group"),
    (nodes.said_of_nodes("node(s) had no licence", 1), "has no licence"),
    (nodes.said_of_nodes("node(s) didn't answer", 2), "don't answer"),
    (nodes.said_of_nodes("node(s) reserved cpu", 1), "reserves cpu"),
    (nodes.said_of_nodes(nodes.OTHER_SHARD, 2), "belong to another shard"),
    (nodes.said_of_nodes("lie too far away", 2), "lie too far away"),
    (nodes.taint_key(nodes.tainted("gpu", "yes")), "gpu"),
    (nodes.resource_in("Insufficient cpu"), "cpu"),
    (nodes.resource_in(nodes.FULL), "pods"),
    # -- nodes: what no node has ---------------------------------------------------------------------------------------
    (nodes.NO_NODE, "no node"),
    (nodes.IN_GROUP, "is in a group that its queue may use"),
    (nodes.HAS_TOPOLOGY, "has the labels that its topology spread constraints name"),
    (nodes.REACHES_VOLUMES, "reaches its volumes"),
    (nodes.IS_SELECTED, "matches its node selector or affinity"),
    (nodes.none_of(1), "no usable node"),
    (nodes.none_of(3), "none of the 3 usable nodes"),
    (nodes.has_no(nodes.NO_NODE, "cpu", "16", "8"), "no node has 16 cpu (largest: 8)"),
    (nodes.has_no(nodes.NO_NODE, "nvidia.com/gpu", "1", ""), "no node has nvidia.com/gpu"),
    (nodes.has_no(nodes.NO_NODE, "pods", "1", ""), "no node has a slot for a pod"),
    (nodes.has_not_everything(nodes.NO_NODE), "no node has everything that it asks for"),
    (nodes.closed_by(nodes.IS_SELECTED, every=False), "no node matches its node selector or affinity"),
    (nodes.closed_by("is tainted {gpu: yes}", every=True), "every node is tainted {gpu: yes}"),
    (
        nodes.none_usable([(nodes.CORDONED, 1), (nodes.NOT_SELECTED, 2)]),
        "no node may be used: 1 is cordoned, 2 do not match its node selector or affinity",
    ),
    (nodes.not_registered(1, "nvidia.com/gpu"), "1 node has not registered nvidia.com/gpu yet"),
    (nodes.not_registered(2, "nvidia.com/gpu"), "2 nodes have not registered nvidia.com/gpu yet"),
    (nodes.larger_than_nodes(8, 4), "8 are needed at once, and 4 would fit if all nodes were empty"),
    (
        nodes.larger_than_nodes(8, 4, "workers ", " in any rack"),
        "8 workers are needed at once, and 4 would fit in any rack if all nodes were empty",
    ),
    # -- limits --------------------------------------------------------------------------------------------------------
    (limits.amounts([CPU, MEMORY], "held"), "6 of 8 cpu held, 4 more asked; 0 of 1Gi memory held, 2Gi more asked"),
    (limits.in_words("memory", 1_500_000), "1Mi"),
    (limits.in_words("cpu", 1500), "1500m"),
    (limits.in_words("nvidia.com/gpu", 500), "0.5"),
    (limits.in_all(TOO_LARGE), "8 cpu in all: 9 asked"),
    (limits.at_limit("a", "a", CPU, None), "queue a allows 8 cpu: 6 held, 4 more asked"),
    (limits.at_limit("a", "a", TOO_LARGE, None), "queue a may hold 8 cpu at most: 9 asked"),
    (limits.at_limit("a", "root", CPU, None), "queue root above it allows 8 cpu: 6 held, 4 more asked"),
    (
        limits.at_limit("a", "a", CPU, QueueBound(8000, 8000, "root")),
        "queue root allows queue a 8 cpu: 6 held, 4 more asked",
    ),
    (
        limits.at_limit("a", "a", TOO_LARGE, QueueBound(8000, 8000, "root")),
        "queue root above it may hold 8 cpu at most: 9 asked",
    ),
    (
        limits.at_limit("a", "a", CPU, QueueBound(8000, 8000)),
        "queue a may hold 8 cpu, as the cluster has no more: 6 held, 4 more asked",
    ),
    (limits.at_limit("a", "a", TOO_LARGE, QueueBound(8000, 8000)), "the cluster has 8 cpu in all: 9 asked"),
    (
        limits.at_limit("a", "a", CPU, QueueBound(8000, 9000, "", ("b", "c"))),
        "queue a may hold 8 cpu, as what queues b and c are guaranteed is kept free: 6 held, 4 more asked",
    ),
    (
        limits.at_limit("a", "a", TOO_LARGE, QueueBound(8000, 9000, "", ("b",))),
        "what queue b is guaranteed leaves queue a 8 of 9 cpu at most: 9 asked",
    ),
    (limits.allows(CPU), "allows 8 cpu: 6 held, 4 more asked"),
    (limits.named_queue("a", "a"), "queue a"),
    (limits.named_queue("root", "a"), "queue root above it"),
    (limits.at_most(TOO_LARGE), "may hold 8 cpu at most: 9 asked"),
    (limits.guaranteed(QueueBound(0, 0, guaranteed=("a", "b"))), "what queues a and b are guaranteed"),
    (limits.of_all(CPU, QueueBound(8000, 9000)), "8 of 9 cpu"),
    (limits.ADMITTED, "held or reserved by admitted jobs"),
    (
        limits.waits_behind(0, "", [CPU]),
        "waits behind jobs admitted before it: 6 of 8 cpu held or reserved by admitted jobs, 4 more asked",
    ),
    (
        limits.waits_behind(1, "a", [CPU]),
        "waits behind one job of queue a admitted before it: 6 of 8 cpu held or reserved by admitted "
        "jobs, 4 more asked",
    ),
    (
        limits.waits_behind(30, "", [CPU]),
        "waits behind more than 20 jobs admitted before it: 6 of 8 cpu held or reserved by admitted jobs, 4 more asked",
    ),
    (
        limits.admitted_may_ask([CPU, MEMORY]),
        "admitted jobs may ask for 8 cpu: 6 held or reserved by them, 4 more asked; may ask for 1Gi "
        "memory: 0 held or reserved by them, 2Gi more asked",
    ),
    (limits.deserves("a", [CPU]), "queue a deserves 8 cpu: 6 held, 4 more asked"),
    (
        limits.deserves("a", [CPU], "job ns/b"),
        "queue a deserves 8 cpu: 6 held, 4 more asked; part of it is reserved for job ns/b",
    ),
    (
        limits.over_quota("q", [("4", "cpu", "3", "2"), ("1Gi", "memory", "0", "2Gi")]),
        "ResourceQuota q allows 4 cpu: 3 used, 2 more asked; 1Gi memory: 0 used, 2Gi more asked",
    ),
    (
        limits.quota_refuses("q", "4", "cpu", "3", 1, "2"),
        "ResourceQuota q allows 4 cpu: 3 used, 1 missing pod asks for 2",
    ),
    (
        limits.quota_refuses("q", "4", "cpu", "3", 2, "4"),
        "ResourceQuota q allows 4 cpu: 3 used, 2 missing pods ask for 4",
    ),
    # -- jobs ----------------------------------------------------------------------------------------------------------
    (jobs.REJECTED, "a plugin rejected it"),
    (jobs.no_queue("a"), "queue a does not exist"),
    (jobs.no_group("PodGroup ns/a"), "PodGroup ns/a does not exist: its pods wait for it to be created"),
    (jobs.no_priority_class("high"), "PriorityClass high does not exist"),
    (jobs.claims_unread("ResourceClaim", "forbidden"), "ResourceClaim objects cannot be read: forbidden"),
    (jobs.some_wait(1, "a.0", "it is unknown"), "1 of its pods waits: a.0: it is unknown"),
    (jobs.some_wait(2, "a.0", "it is unknown"), "2 of its pods wait: a.0: it is unknown"),
    (jobs.gated(1, more=False), "scheduling gates hold back 1 pod"),
    (jobs.gated(2, more=False), "scheduling gates hold back 2 pods"),
    (jobs.gated(1, more=True), "scheduling gates hold back 1 more pod"),
    (jobs.gated(2, more=True), "scheduling gates hold back 2 more pods"),
    (
        jobs.unbound(2, "a.0", "denied by a webhook"),
        "the API server does not bind 2 of its pods: a.0: denied by a webhook",
    ),
    (jobs.NONE_FITS, "no node fits"),
    (jobs.UNTRIED, "not every way to place its pods was tried"),
    (jobs.THE_GANG, "the gang"),
    (jobs.needs(jobs.THE_GANG, 8, 8, 0), "the gang needs 8, none fit"),
    (jobs.needs(jobs.THE_GANG, 8, 6, 1), "the gang needs 6 more of its minimum of 8, 1 fits"),
    (jobs.needs(jobs.THE_GANG, 8, 8, 2, 0), "the gang needs 8, 2 fit, and no more would if all nodes were empty"),
    (jobs.needs(jobs.THE_GANG, 8, 8, 2, 4), "the gang needs 8, 2 fit, and 4 would if all nodes were empty"),
    (jobs.needs(jobs.THE_GANG, 8, 8, 0, 0), "the gang needs 8, none fit"),
    (jobs.gang_needs(3), "the gang needs 3"),
    (jobs.roles_of(["worker"]), "role worker"),
    (jobs.roles_of(["ps", "worker"]), "roles ps and worker"),
    (jobs.sub_groups_of(["part/x"]), "sub-group part/x"),
    (jobs.sub_groups_of(["part/x", "part/y"]), "sub-groups part/x and part/y"),
    (
        jobs.in_no_domains("sub-groups part/x and part/y"),
        "sub-groups part/x and part/y do not fit together, whichever domains they are in",
    ),
    (jobs.pods_like(["a-0"]), "pods like a-0"),
    (jobs.pods_like(["a-0", "a-4"]), "pods like a-0 and a-4"),
    (
        jobs.lack_together(
            "roles ps and worker", "9", "nvidia.com/gpu", jobs.USABLE_NODES, jobs.free("8", leaving=False)
        ),
        "roles ps and worker together need 9 nvidia.com/gpu; usable nodes have 8 free",
    ),
    (
        jobs.lack_together(
            "role worker",
            jobs.at_least("9Gi"),
            "memory",
            jobs.NODES_WITH_ROOM,
            jobs.free("8Gi", leaving=True),
            several=False,
        ),
        "role worker needs at least 9Gi memory; nodes with room for such a pod have 8Gi free or about to be",
    ),
    (
        jobs.lack_together(
            "pods like a-0", "9", "pods", jobs.USABLE_NODES, jobs.free("8", leaving=False), several=False
        ),
        "pods like a-0 need 9 slots for pods; usable nodes have 8 free",
    ),
    (
        jobs.few_fit("roles ps and worker", 6, 5, ["cpu", "memory"]),
        "of roles ps and worker, 6 pods are needed at once and at most 5 fit, for lack of cpu and memory",
    ),
    (
        jobs.few_fit("role ps", 2, 1, ["cpu"]),
        "of role ps, 2 pods are needed at once and at most 1 fits, for lack of cpu",
    ),
    (jobs.few_fit("role ps", 1, 0, []), "of role ps, 1 pod is needed at once and none fit"),
    (jobs.more_wait(1), "one more pod waits"),
    (jobs.more_wait(2), "2 more pods wait"),
    (jobs.besides("queue a is closed"), "; besides, queue a is closed"),
    (jobs.HIGHER_PRIORITY, "has the higher priority"),
    (jobs.NO_HELP, "; more nodes would not help: "),
    (jobs.have_nodes(1, "a.0 is next"), "1 pod has a node: a.0 is next"),
    (jobs.have_nodes(2, "a.0 is next"), "2 pods have nodes: a.0 is next"),
    (jobs.wait_for_others(1, "a.0 is next"), "1 pod has a node and waits for other pods to leave: a.0 is next"),
    (jobs.wait_for_others(2, "a.0 is next"), "2 pods have nodes and wait for other pods to leave: a.0 is next"),
    (jobs.goes_once("n1"), "will go to n1 once the terminating pods are gone"),
    (jobs.goes_once("n1", "ns/b.0 is done"), "will go to n1 once ns/b.0 is done"),
    (jobs.goes_next("n1"), "will go to n1 in the next session"),
    (jobs.has_place("n1"), "has a place on n1 and waits for its gang"),
    (jobs.starts_at("14:05 UTC", ["n1", "n2"], 2), "its start is planned for 14:05 UTC, on n1, n2"),
    (jobs.starts_at("14:05 UTC", ["n1", "n2"], 3), "its start is planned for 14:05 UTC, on n1, n2 and 1 more node"),
    (jobs.starts_at("14:05 UTC", ["n1", "n2"], 8), "its start is planned for 14:05 UTC, on n1, n2 and 6 more nodes"),
    (jobs.NODES_REQUESTED, "nodes for it will be requested by a ProvisioningRequest"),
    (jobs.NODES_ON_THE_WAY, "nodes for it are being provisioned"),
    (jobs.NOT_TRIED, "not tried in this cycle"),
    (jobs.fits_but_waits("noon"), "fits, but waits until noon"),
    (jobs.gang_reaches_minimum("ns/a", 3), "its gang ns/a reaches its minimum of 3"),
    (jobs.sub_group_reaches_minimum("w/a", 3, of_groups=False), "its sub-group w/a reaches its minimum of 3"),
    (jobs.sub_group_reaches_minimum("w", 2, of_groups=True), "its sub-group w reaches its minimum of 2 groups"),
    (jobs.gang_waits("ns/a", "no node fits"), "its gang ns/a waits: no node fits"),
    (
        jobs.waits_as_gang_waits("will go to n1", "ns/a", "no node fits"),
        "will go to n1, and its gang ns/a waits: no node fits",
    ),
    (jobs.CLAIM_RELEASED, "its pods were not placed"),
    # -- victims -------------------------------------------------------------------------------------------------------
    (victims.BUDGETS_SPENT, "disruption budgets are used up"),
    (victims.plugin_disagrees("elders"), "elders does not agree"),
    (
        victims.budgets_forbid(["ns/a"]),
        "disruption budget ns/a forbids the only victims (retried as soon as it allows more)",
    ),
    (
        victims.budgets_forbid(["ns/a", "ns/b"]),
        "disruption budgets ns/a, ns/b forbid the only victims (retried as soon as they allow more)",
    ),
    (
        victims.budgets_forbid(["ns/a", "ns/b", "ns/c", "ns/d"]),
        "disruption budgets ns/a, ns/b, ns/c, … forbid the only victims (retried as soon as they allow more)",
    ),
    (
        victims.in_several_budgets(["ns/a", "ns/b"]),
        "the only victims are in more than one disruption budget (ns/a, ns/b): the Eviction API refuses such pods",
    ),
    (victims.UNNEEDED, "its resources are no longer needed"),
    (victims.EVICTION_REFUSED, "the API server refuses its eviction"),
    (victims.NO_OTHER_PLACE, "no other node has room for it any more"),
    (victims.leaving_by_themselves([("ns/a.0", ANSWERED)]), "ns/a.0 is done, expected at 14:00:00 UTC"),
    (
        victims.leaving_by_themselves([("ns/a.0", SILENT), ("ns/a.1", SILENT)]),
        "ns/a.1 and 1 more are done, which were asked to end by 14:05:30 UTC",
    ),
    (victims.leaving_by_themselves([("ns/a.0", SILENT)]), "ns/a.0 is done, which was asked to end by 14:05:30 UTC"),
    (victims.asked_to_end(None, str), ""),
    (victims.asked_to_end(SILENT, str), "asked to end: has not answered, is evicted at 14:05:30 UTC at the latest"),
    (
        victims.asked_to_end(ANSWERED, "job {}".format),
        "asked to end for job ns/b: expects to be done at 14:00:00 UTC (saving), is evicted at 14:05:30 "
        "UTC at the latest",
    ),
    (victims.said_by_responder(SILENT), ""),
    (victims.said_by_responder(ANSWERED), " (saving)"),
    # -- the engine of itself ------------------------------------------------------------------------------------------
    (engine.registered_twice("gang"), "'gang' is registered twice"),
    (engine.not_called("predicate"), "predicate: was not called when this was recorded"),
    (engine.not_answered("predicate"), "predicate: was not answered when this was recorded"),
    (
        engine.not_acted_on("spec.capability", ["capacity", "proportion"], tree=False),
        "spec.capability: the policy has no plugin that acts on it (expected capacity or proportion)",
    ),
    (
        engine.not_acted_on("spec.parent", [engine.with_hierarchy("capacity")], tree=True),
        "spec.parent: the policy does not share by a tree of queues (expected capacity with enableHierarchy)",
    ),
    (engine.with_hierarchy("capacity"), "capacity with enableHierarchy"),
    (engine.keeps_too_much([]), "a cycle that nothing was kept for reports something else"),
    (
        engine.keeps_too_much(["elders (timeless)", "seniors (by_job_alone)"]),
        "a cycle that nothing was kept for reports something else; look at what these plugins promise: "
        "elders (timeless), seniors (by_job_alone)",
    ),
]


@pytest.mark.parametrize(("said", "words"), SAID, ids=[words for _, words in SAID])
def test_words(said: str, words: str) -> None:
    assert said == words
