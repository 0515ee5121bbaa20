"""What ``consolidate`` is made of: who may be moved, which sets of pods to try, and the trial of a set."""
