"""Claims in a session: which nodes can serve the claims of a task, and what is taken for it.

``handler`` says what each kind of claim provides; ``claims`` puts the kinds together for the ledger and node selection.
"""
