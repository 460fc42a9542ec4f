"""Run directories and the raw files that measured programs leave."""
