"""What a cluster without other controllers needs: the states of queues, and the queues there must be."""
