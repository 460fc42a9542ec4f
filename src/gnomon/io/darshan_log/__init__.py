"""Logs of Darshan as runs."""
