"""Parts of the plugin usage-history."""
