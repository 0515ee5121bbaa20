"""Controllers: queue states, PodGroups for pods without one, scheduling gates, and the writes of the arbitrator.

A cluster needs them where no other controllers do this work.
"""
