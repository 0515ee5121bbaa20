"""Where vsched differs from Volcano, as far as parts of a policy and objects are concerned.

The points are rows of the table in config/README.md; a test compares them.
"""

from __future__ import annotations

VICTIMS_AND_TIERS = "victims and tiers"
NO_PRIORITY_CLASS = "a PodGroup's PriorityClass that does not exist"
HARD_WITHOUT_TIER = "networkTopology: hard without a tier, or with a tier name that there is not"
SUBGROUPS_WITHOUT_KEYS = "subGroupPolicy with a selector and no keys"

OF_ACTIONS = {
    "enqueue": "admission (enqueue)",
    "preempt": "victims",
    "reclaim": "reclaim within deserved",
    "gangpreempt": "gangpreempt, gangreclaim",
    "gangreclaim": "gangpreempt, gangreclaim",
    "shuffle": "shuffle",
}
"""The point of the table for an action."""
OF_PLUGINS = {
    "capacity": "limits in a tree of queues",
    "numa-aware": "numa-aware",
    "deviceshare": "deviceshare",
    "pdb": "disruption budgets",
    "proportion": "capability of 0, of pods",
    "task-topology": "buckets of task-topology",
    "usage": "usage of nodes",
}
"""The same for a plugin."""

POINTS: dict[str, str] = {
    "admission (enqueue)": (
        "by queue, namespace and job, where admitted jobs count as held; jobs that their queue could not "
        "place now are asked for last"
    ),
    "victims": "the fewest that make room for the gang as a whole, on whatever nodes; of equally many, those on the "
    "first nodes by score. Pods that could take the place back are not evicted, and no pod is evicted for a job that "
    "would lose the place to another waiting job",
    VICTIMS_AND_TIERS: (
        "what a plugin protects absolutely is no victim, in whatever tier: with gang, nothing is reclaimed from jobs "
        "at their minMember, such as those of a single pod; victimTiers: reference for the old way"
    ),
    "reclaim within deserved": (
        "the reclaimer is short, and the victim's queue (and those above it, whatever the level) over, in a "
        "resource that is asked for and lacking"
    ),
    "gangpreempt, gangreclaim": (
        "evict what the placement needs and no more; a gang that is broken up leaves as a whole"
    ),
    "shuffle": "only pods that find a place elsewhere, within disruption budgets",
    "limits in a tree of queues": (
        "limits are cut to what the parent passes on; what is broken is left out, with a condition and an Event"
    ),
    "numa-aware": (
        "reads NodeResourceTopologies first, all that they report by zone; without a list of pods, the time "
        "of the report decides"
    ),
    "deviceshare": (
        "reads the handshake of device plugins alone; MindCluster's parts of NPUs are not supported, and refused. "
        "Edits of the ConfigMap take effect at once. A GPU that nobody uses any more may take "
        "another MIG geometry. Pods that ask for GPUs of a kind that is not enabled, or of several kinds, wait with a "
        "reason. NPUs: of several networks, a container gets the smallest that has enough, not the largest; parts of "
        "several are refused with a reason; use-CHIP-uuid and health count. Their lock is HAMi's, which their device "
        "plugin removes; pods wait for locks, and do not fail at once. The policy also ranks the devices of a node"
    ),
    "disruption budgets": "bind every eviction, counted for the gang as a whole beforehand",
    "capability of 0, of pods": "0 means none; pods count, those that ask for nothing as well",
    "buckets of task-topology": "by request; ties go by name",
    "usage of nodes": "unknown is at least as much as the mean of what is known, and closes no node;"
    " windows, fluctuation, what the pod asks for",
    "vcjobs: dependsOn": "the gang is that of the tasks that can start; the job fails (DependencyFailed)",
    NO_PRIORITY_CLASS: ("its queue's priority, with a condition that says so; else the job waits for the class"),
    HARD_WITHOUT_TIER: "no limit; the job waits",
    SUBGROUPS_WITHOUT_KEYS: "its pods are one sub-group",
}
"""What vsched does, by point."""
