"""Queues of Kueue and of KAI become Volcano Queues, with comments on what cannot be carried over."""
