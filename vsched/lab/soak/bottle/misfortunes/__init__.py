"""What goes wrong in a bottle besides requests that fail, to daemons and to the cluster around them."""
