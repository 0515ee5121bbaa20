"""Pods: requests and placement rules (shape), tasks and their statuses, and indexes of pods on nodes by labels."""
