"""Heat in a plate, in plain Python."""

from __future__ import annotations


def neighbours(grid: list[list[float]], row: int, column: int) -> float:
    """Return the sum of the four values around one."""
    return (
        grid[row - 1][column]
        + grid[row + 1][column]
        + grid[row][column - 1]
        + grid[row][column + 1]
    )


def step(grid: list[list[float]]) -> list[list[float]]:
    """Return the grid a moment later."""
    last = len(grid) - 1
    return [
        [
            neighbours(grid, row, column) / 4 if 0 < row < last and 0 < column < last else value
            for column, value in enumerate(values)
        ]
        for row, values in enumerate(grid)
    ]


def solve(size: int, steps: int) -> float:
    """Return the heat in the middle after some steps."""
    grid = [[100.0 if row == 0 else 0.0 for _ in range(size)] for row in range(size)]
    for _ in range(steps):
        grid = step(grid)
    return grid[size // 2][size // 2]


if __name__ == "__main__":
    print(solve(120, 60))
