"""Counting a program for `gnomon count` and `gnomon run`: counters, times, emulated counts."""
