"""Samples of where a program spends its time: taken by perf events, unwound while it runs."""
