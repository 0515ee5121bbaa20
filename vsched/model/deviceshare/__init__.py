"""Devices of nodes that pods share: whole or in parts (GPUs, NPUs), as device plugins register them on nodes."""
