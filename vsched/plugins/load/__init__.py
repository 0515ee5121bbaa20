"""How the plugin ``usage`` reads the load of nodes."""
