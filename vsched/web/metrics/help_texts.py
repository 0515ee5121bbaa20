"""Help texts of the metrics that are read from the parts of a daemon at each scrape."""

from __future__ import annotations

MEANINGS: dict[str, str] = {
    "vsched_watch_events_total": "Watch events by kind, with bookmarks.",
    "vsched_watch_relists_total": "Full lists of a kind after the first.",
    "vsched_watch_restarts_total": "Watches of a kind opened after the first.",
    "vsched_watch_silence_seconds": "Time since the last list page, watch event or bookmark of a kind.",
    "vsched_mirror_age_seconds": "Age of the cached cluster state: the longest silence of a kind that decisions need.",
    "vsched_mirror_size": "Number of cached objects, by kind.",
    "vsched_queue_depth": "Length of the work queues, by name.",
    "vsched_in_flight": "Bindings and evictions being sent.",
    "vsched_gang_phases": "Gangs with claims that are being bound, by phase.",
    "vsched_gang_transactions_total": "Gangs with claims that were bound or rolled back, by result.",
    "vsched_claim_releases_total": "Claims reserved for pods that were not placed, by what became of the claim.",
    "vsched_events_dropped_total": "Events that were not written, by reason.",
    "vsched_leader": "Whether this daemon leads, by the name of the Lease (empty without leader election).",
    "vsched_shards": "Shards that this daemon holds, and shards in all.",
    "vsched_shard_loans": "Nodes that this daemon's shards have borrowed from others or lent to others.",
    "vsched_leader_transitions_total": "Leader transitions recorded in the Lease.",
    "vsched_leader_failures_total": "Failed attempts to acquire or renew the Lease.",
    "vsched_usage_rounds_total": "Queries for node usage, by result.",
    "vsched_usage_nodes": "Nodes with current, old or no usage data.",
    "vsched_usage_age_seconds": "Age of the newest node usage data.",
    "vsched_usage_history_writes_total": "Writes of the usage history to its ConfigMap, by result.",
    "vsched_usage_history_last_write_timestamp_seconds": "Time of this daemon's last write of the usage history.",
    "vsched_usage_history_bytes": "Size of the usage history when it was last written.",
    "vsched_usage_history_since_timestamp_seconds": "When the usage history began to count; 0 before it does.",
    "vsched_http_refusals_total": "HTTP requests that this daemon refused, by code.",
    "vsched_api_silent": "1 while the API server does not answer and no sessions run.",
    "vsched_garbage_collections_total": "Garbage collections of the interpreter, by generation.",
    "vsched_garbage_collection_seconds_total": "CPU time of garbage collections, by generation.",
    "vsched_garbage_collection_longest_seconds": "Longest garbage collection since the start, by generation.",
    "vsched_rollout_step": "Step of the policy's rollout, from 1; 0 before the first and without a rollout.",
    "vsched_rollout_in_force": "1 while the candidate of the policy's rollout is in force.",
    "vsched_rollout_held": "1 while a step of the policy's rollout is held because a limit is broken.",
    "vsched_rollout_taken_back": "1 after the policy's rollout was taken back, until it is edited.",
    "vsched_watchers": "Clients of /events.",
    "vsched_foreign_bindings_total": "Pods of this scheduler that another scheduler bound. Must stay 0.",
    "vsched_audit_lines_total": "Lines of the audit log, by what became of them, in the file and at the collector.",
    "vsched_trace_spans_total": "Spans of traces, by whether they were sent or lost.",
    "vsched_work_trace_lines_total": "Lines of the work trace, by whether they were written or lost.",
    "vsched_vcjobs_left_alone": "1 while Volcano's own controllers manage vcjobs.",
    "vsched_job_flows": "JobFlows by phase.",
    "vsched_cron_jobs": "Volcano CronJobs by state: scheduled or suspended.",
    "vsched_flow_vcjobs_total": "Vcjobs created and deleted for CronJobs and JobFlows.",
    "vsched_flow_probes_total": "Probes of JobFlows, by result.",
    "vsched_provisioning_requests": "Gangs with a ProvisioningRequest, by its state.",
    "vsched_capacity_buffer_pods": "Pods for which a CapacityBuffer reserves capacity, by namespace and name.",
    "vsched_shadow_gangs": "Gangs that wait under the scheduler in charge, those that would start here now, and those "
    "that hold nodes without their minimum.",
    "vsched_shadow_starts_total": "Gangs started by the scheduler in charge, by what would have happened here: later, "
    "alike, waits-here or unseen.",
    "vsched_shadow_later_seconds_total": "How much later gangs started than they would have here.",
    "vsched_shadow_would_evict_pods_total": "Pods that would have been evicted here.",
    "vsched_shadow_evictions_total": "Evictions by the scheduler in charge: in-vain, and other.",
    "vsched_shadow_partial_gangs_total": "Gangs that held nodes without their minimum for longer than the bound.",
    "vsched_shadow_idle_node_seconds_total": "Node-seconds that were idle while work would have started here, by "
    "resource.",
    "vsched_shadow_queue_share": "Share of what a queue deserves by the candidate policy that it holds.",
    "vsched_shadow_log_bytes": "Size of the log of findings.",
    "vsched_shadow_lost_findings_total": "Findings that had no room in the log.",
    "vsched_log_lines_lost_total": "Log lines that could not be written.",
    "vsched_extender_calls_total": "Calls to the scheduler extender, by result.",
}


def meaning_of(name: str) -> str:
    """The help text of a metric; its name in words where it has none."""
    return MEANINGS.get(name) or name.replace("_", " ")
