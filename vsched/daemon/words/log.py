"""The events of the log, and what some of their fields say."""

from __future__ import annotations

# -- the API server ----------------------------------------------------------------------------------------------------

SESSIONS_PAUSED = "API server does not answer, sessions paused"
SESSIONS_RESUME = "API server is back, sessions resume"
API_SERVER_SILENT = "API server does not answer"
NOT_NEEDED = "not served, not needed"
CANNOT_NOTIFY = "service manager cannot be notified"

# -- leases and shards -------------------------------------------------------------------------------------------------

WAITING_FOR_LEASE = "waiting for the lease"
WAITING_FOR_LEASES = "waiting for the leases of shards"
LEASE_ATTEMPT_FAILED = "lease attempt failed"
LEASE_LOST = "lease lost"
LEASE_RELEASED = "lease released"
LEASE_NOT_WATCHED = "lease cannot be watched, polling it instead"
ADDRESS_NOT_PUBLISHED = "leader address not published"
HANDING_OVER = "handing over shard"
CANNOT_REQUEST = "cannot request a shard"

# -- the policy and tables ---------------------------------------------------------------------------------------------

POLICY_IN_FORCE = "policy in force"
POLICY_WARNING = "policy warning"
POLICY_REJECTED = "policy rejected, keeping the previous one"
GEOMETRIES_UNREAD = "MIG geometries cannot be read, using the built-in ones"
NO_GEOMETRIES = "no MIG geometries configured, using the built-in ones"
GEOMETRIES_REJECTED = "MIG geometries rejected, keeping the previous ones"
GEOMETRIES_LOADED = "MIG geometries loaded"
WORKLOADS_REJECTED = "workload kinds rejected, keeping the previous ones"
WORKLOADS_VALID = "workload kinds are valid again and unchanged"
WORKLOADS_LOADED = "workload kinds loaded"

# -- sessions ----------------------------------------------------------------------------------------------------------

CACHE_SYNCED = "cache synced"
VIOLATED = "decision violates a rule"
"""Soaks look for it."""
SESSION_RECORDED = "session recorded"


def fetch(number: int) -> str:
    """How to see a recording."""
    return f"vsched dump --recording {number}"


SESSION_FAILED = "session failed"
SESSION_FAILED_AGAIN = "session failed again"
ARBITRATION_FAILED = "arbitration failed"
WORK_TRACE_LOST = "work trace cannot be written, lines are lost"
AUDIT_LOST = "audit log cannot be written, lines are lost"
NOT_COLLECTED = "the collector takes no log records"
AUDIT_GOES_ON = "audit log can be written again"
TRACES_LOST = "traces cannot be sent, spans are lost"
TRACES_GO_ON = "traces can be sent again"
NOT_RECORDED = "session not recorded"
TOO_LARGE = "session not recorded: too large"
PAGE_FAILED = "page data failed"
CHECK_FAILED = "check failed"
ADVICE_FAILED = "advice failed"
EXTENDER_SILENT = "extender does not answer"
EXTENDER_BACK = "extender answers again"

# -- pods --------------------------------------------------------------------------------------------------------------

WASTED = "evicted pods for a job that was not placed"
EVICT_EACH_OTHER = "jobs evict each other's pods in turn"
BINDING_LOST = "binding lost"
ACCEPTED_AND_GONE = "the API server accepted the binding but no longer has it; was it restored from a backup?"
NOT_WITHDRAWN = "eviction request not withdrawn"
RIVAL = "another scheduler binds this scheduler's pods"
CLAIMS_NOT_RELEASED = "claims not released"
UNSENT_WRITES = "stopped with unsent writes"

# -- the usage history -------------------------------------------------------------------------------------------------

HISTORY_STARTS_EMPTY = "usage history starts empty"
NO_CONFIG_MAP = "the ConfigMap does not exist"
HISTORY_NOT_IN_PROMETHEUS = "usage history cannot be read from Prometheus"
PROMETHEUS_EMPTY = "Prometheus has no usage history either"
HISTORY_RESTORED = "usage history restored"
HISTORY_OF_ANOTHER = "usage history was written by another process"
HISTORY_WRITTEN_AGAIN = "usage history can be written again"
HISTORY_TOO_LARGE = "usage history is too large"


def history_cannot_be(what: str) -> str:
    return f"usage history cannot be {what}"


# -- the work trace ----------------------------------------------------------------------------------------------------

TOO_MANY_LINES = "too many lines wait for the disk"


def no_work_folder(path: object, problem: object) -> str:
    return f"{path}: no folder for a work trace: {problem}"


def no_key(path: object, count: int) -> str:
    return f"{path}: no key for made-up names (expected {count} bytes)"


CERTIFICATE_NOT_KEPT = "the certificate cannot be looked after; the one that is served stays"
