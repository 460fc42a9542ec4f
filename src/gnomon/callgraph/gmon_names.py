"""What gmon.out files and their sums are called."""

USUAL_FILE = "gmon.out"
SUM_FILE = "gmon.sum"
