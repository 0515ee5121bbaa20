"""The controller of Volcano's Jobs (vcjobs): pure decisions, the objects that it makes, and the shell that writes."""
