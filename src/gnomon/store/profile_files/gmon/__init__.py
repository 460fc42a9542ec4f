"""gmon.out: what programs leave that were built with -pg, and which functions it tells of."""
