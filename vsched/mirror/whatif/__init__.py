"""The one editor of a cluster: takes a snapshot and changes, and gives the snapshot that the mirror would make then.

``ClusterEditor`` is a mirror made from a snapshot. Changes go into the mirror's own stores, as objects (``tell``) or as
records (``edits``), so the code that follows a running cluster works out what follows from them: sums, implicit
PodGroups, who waits. To edit the snapshot itself would need each of those rules a second time.

Records can be taken back (``edited``): a search tries hundreds of variants of one cluster, and each costs what it
changes, not the size of the cluster.
"""
