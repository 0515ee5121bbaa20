"""What a scheduler would do beside what the scheduler in charge does: the comparison, and its sums.

It reads snapshots and reports alone. Times are seconds since the epoch, durations seconds.
"""
