"""What-if: apply changes to a snapshot, and get the snapshot that the mirror would make of the changed cluster.

``ClusterEditor`` is a mirror made from a snapshot. Changes go into the mirror's own stores, as objects (``tell``) or as
edits (``edits``). The code that follows a running cluster then computes the consequences: sums, implicit PodGroups,
and which jobs wait. Editing the snapshot itself would need a second implementation of each of those rules.

Edits can be undone (``edited``). A search tries hundreds of variants of one cluster; each variant costs as much as it
changes, whatever the size of the cluster.
"""
