"""The vocabulary that every part of Gnomon shares: values, events and tables."""
