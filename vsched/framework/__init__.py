"""The engine: how plugins and actions meet. It knows no plugin and no action by name."""
