"""A pod as the scheduler sees it: what it asks for, where it may run, its status, and what others select of it."""
