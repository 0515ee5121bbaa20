"""Devices: claims are made from templates and given back, a driver publishes what nodes have."""
