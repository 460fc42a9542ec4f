"""MPI as a profiler sees it: routines as data, what counts as bytes, wrappers for one MPI."""
