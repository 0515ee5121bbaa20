"""The menu of a waiting gang: what could start it, with nodes, quota, time, or the places of others."""
