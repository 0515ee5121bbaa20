"""What is decided about an object beyond its own fields: quotas, priorities, budgets, webhooks."""
