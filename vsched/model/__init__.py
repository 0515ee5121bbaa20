"""The data model of scheduling: amounts, tasks, jobs, queues, nodes, plans. Records and sums, without policy."""
