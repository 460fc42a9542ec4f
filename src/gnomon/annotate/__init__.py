"""Source and machine code of a function with what each line and each instruction took."""
