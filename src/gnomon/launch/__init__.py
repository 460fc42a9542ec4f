"""Start a program, observe it by any number of capabilities, and assemble the run they leave."""
