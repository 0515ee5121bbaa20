"""Node shards: which nodes are ours where Volcano's sharding controller divides them among schedulers."""
