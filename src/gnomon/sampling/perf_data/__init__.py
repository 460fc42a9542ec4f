"""perf.data files of perf record as runs."""
