"""The emulated PMU: counts of a program that runs on a simulated processor."""
