"""From API objects to the model: pure functions of one object each."""
