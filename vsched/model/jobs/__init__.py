"""Jobs: a PodGroup with its tasks, disruption budgets, run times of finished pods, and advice for waiting jobs."""
