"""The words of scheduling as pure data: amounts, tasks, jobs, queues, nodes, plans. No behaviour beyond bookkeeping."""
