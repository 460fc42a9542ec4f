"""Emulated machines that have a PMU, for the tests of hardware counters.

`make test-guest` runs this package (`python -m guest`) on the host: it makes each machine from the
distribution's own packages, cross-compiles Gnomon for it, boots it and runs `inside/` there.
"""
