"""What single commands print: lists and reports, as text that fits the terminal."""
