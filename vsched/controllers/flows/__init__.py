"""What makes vcjobs: Volcano's CronJobs by schedule, and its JobFlows one after the other."""
