"""Claims in a session: which nodes can serve the claims of a task, and what is taken for it.

``handler`` is the interface of each kind of claim; ``claims`` puts them together for the ledger and node selection.
"""
