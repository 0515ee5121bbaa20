"""Arithmetic on devices that pods share: arrays of device slots and nodes."""
