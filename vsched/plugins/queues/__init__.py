"""Code that the queue plugins (capacity, proportion, drf) share."""
