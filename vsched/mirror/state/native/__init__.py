"""Native PodGroups in the mirror: the groups, their pods, and how they form trees."""
