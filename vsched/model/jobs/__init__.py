"""A job: a PodGroup with its tasks, its budgets, and how long such work ran."""
