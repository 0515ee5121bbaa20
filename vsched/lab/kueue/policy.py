"""The policy of a replay of a generator of Kueue, where the user names none.

Queues of a cohort lend what they do not use and take it back; within a queue, lower priority gives way. A workload
leaves as a whole, so the minimum of gangs protects nobody: ``gang`` does not vote on victims.
"""

BUILT_IN = "cohorts"
"""The name of the policy."""
COHORTS = """
actions: "allocate, reclaim, preempt"
tiers:
- plugins:
  - name: priority
  - {name: gang, enablePreemptable: false, enableReclaimable: false}
  - {name: capacity, enableHierarchy: true}
- plugins:
  - name: predicates
  - name: network-topology-aware
"""
