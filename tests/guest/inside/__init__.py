"""Tests that run in an emulated machine, under its own Python; see docs/testing.md."""
