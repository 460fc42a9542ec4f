"""Reports of call graphs as text and as data."""
