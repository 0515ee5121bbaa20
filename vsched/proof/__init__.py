"""The checker: says whether the decisions of a cycle keep the rules, from its snapshot, its policy and its report.

It reads the rules a second time, apart from the engine, and imports ``model`` alone. ``verify.RULES`` lists them.
"""
