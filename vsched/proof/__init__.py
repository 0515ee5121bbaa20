"""The checker: says whether the decisions of a cycle keep the rules, from its snapshot, its policy and its report.

It is a second reading of the rules, apart from the engine: it imports ``model`` alone, and is written to be read, not
to be fast. ``verify.RULES`` lists the rules with their sources.
"""
