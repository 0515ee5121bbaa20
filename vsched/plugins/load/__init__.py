"""The arguments of the plugin ``usage``, and the loads of nodes it computes."""
