"""``vsched bench --grow``: how time and memory grow with nodes and running pods, each point in a process of its own."""
