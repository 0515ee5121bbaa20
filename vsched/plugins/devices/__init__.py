"""What ``deviceshare`` and ``fragmentation`` share: the devices of nodes, what is free of them, and the mix of pods."""
