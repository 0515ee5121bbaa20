"""Help texts of the metrics that are read from the parts of a daemon at each scrape."""

from __future__ import annotations

MEANINGS: dict[str, str] = {
    "vsched_watch_events_total": "Lines of watches by kind, bookmarks included.",
    "vsched_watch_relists_total": "Complete lists of a kind after the first.",
    "vsched_watch_restarts_total": "Watches of a kind that were opened after the first.",
    "vsched_watch_silence_seconds": "Since a page, an event or a bookmark of a kind came last.",
    "vsched_mirror_age_seconds": "The longest silence of a kind that decisions need: so old may the mirror be.",
    "vsched_mirror_size": "Sizes of the mirror by what is counted.",
    "vsched_queue_depth": "What waits to be carried out or written, by lane.",
    "vsched_in_flight": "Bindings and evictions that a worker has in hand.",
    "vsched_gang_phases": "Gangs with claims that are being bound, by phase.",
    "vsched_gang_transactions_total": "Gangs with claims that were bound or given back, by result.",
    "vsched_claim_releases_total": "Claims that waiting pods held in vain, by what became of them.",
    "vsched_events_dropped_total": "Events that were not written, by reason.",
    "vsched_leader": "Whether this daemon acts, by the name of the Lease; that name is empty without an election.",
    "vsched_shards": "Shards of the work that this daemon decides for, and that there are.",
    "vsched_shard_loans": "Nodes that the shards of this daemon have borrowed from others, and lent to others.",
    "vsched_leader_transitions_total": "How often the Lease has passed from one to another, as it says itself.",
    "vsched_leader_failures_total": "Attempts to get or renew the Lease that failed.",
    "vsched_usage_rounds_total": "Rounds of asking for the usage of nodes, by result.",
    "vsched_usage_nodes": "Nodes by what is known of their usage.",
    "vsched_usage_age_seconds": "Since the newest figure about the usage of nodes.",
    "vsched_usage_history_writes_total": "Writes of the usage history to its ConfigMap, by result.",
    "vsched_usage_history_last_write_timestamp_seconds": "When this daemon wrote the usage history last.",
    "vsched_usage_history_bytes": "The size of the usage history as it was written last.",
    "vsched_usage_history_since_timestamp_seconds": "When the usage history began to count; 0 before it does.",
    "vsched_http_refusals_total": "Requests to our own addresses that were turned away, by code.",
    "vsched_api_silent": "1 while the API server answers nothing, so that no sessions are held.",
    "vsched_garbage_collections_total": "Times that the interpreter looked for garbage, by generation.",
    "vsched_garbage_collection_seconds_total": "Processor time of that, by generation; everything waits meanwhile.",
    "vsched_garbage_collection_longest_seconds": "The longest of them since the daemon began, by generation.",
    "vsched_watchers": "Readers of /events, for whom pictures of the cluster are made.",
    "vsched_foreign_bindings_total": "Pods of ours that another scheduler has bound: to stay 0.",
    "vsched_vcjobs_left_alone": "1 while vcjobs are left to Volcano's own controllers.",
    "vsched_job_flows": "JobFlows by phase.",
    "vsched_cron_jobs": "Volcano's CronJobs by whether they are suspended.",
    "vsched_flow_vcjobs_total": "Vcjobs that were made and deleted for CronJobs and JobFlows.",
    "vsched_flow_probes_total": "Pods that were asked for the probes of JobFlows, by what came of it.",
    "vsched_provisioning_requests": "Gangs with a ProvisioningRequest, by its state.",
    "vsched_capacity_buffer_pods": "For how many pods a CapacityBuffer keeps room, by namespace and name.",
    "vsched_extender_calls_total": "Calls of the extender of the policy, by kind.",
}


def meaning_of(name: str) -> str:
    """The help text of a metric; its name in words where it has none."""
    return MEANINGS.get(name) or name.replace("_", " ")
