"""Statuses of PodGroups, Queues and pods."""
