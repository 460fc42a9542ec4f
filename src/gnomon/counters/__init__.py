"""Counter components, event names and event sets: PAPI's job."""
