"""kube-scheduler's own workload files (scheduler_perf): read, carried out on a mirror or over HTTP, and measured."""
