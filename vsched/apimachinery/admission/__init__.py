"""Admission: what depends on other objects, such as quotas, priorities and disruption budgets."""
