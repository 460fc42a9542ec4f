"""The parts of `gnomon report`: text for the terminal, and rows for JSON and CSV."""
