"""A measurement of one execution, and what is made of it: metrics, text, JSON, items of tasks."""
