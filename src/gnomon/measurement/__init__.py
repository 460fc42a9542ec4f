"""A measurement of one execution, and what is made of it: metrics, JSON, items of tasks."""
