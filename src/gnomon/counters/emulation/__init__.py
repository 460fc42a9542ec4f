"""The emulated PMU: counts of a program that runs on a simulated processor.

A command is run on it by `gnomon.count.emulated_counters`.
"""
