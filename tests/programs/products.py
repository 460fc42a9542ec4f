"""Products, factors and solutions of matrices, of all sizes that have ways of their own in a BLAS.

products.py SECONDS
"""

from __future__ import annotations

import sys
import time

import numpy

until = time.process_time() + float(sys.argv[1])
random = numpy.random.default_rng(1)
a = random.standard_normal((600, 600))
b = random.standard_normal((600, 600))
small = a[:200, :200]
complex_ = small + 1j * b[:200, :200]


def multiply() -> None:
    for _ in range(4):
        a @ b
    a.astype(numpy.float32) @ b.astype(numpy.float32)
    complex_ @ complex_
    for _ in range(20):
        a @ b[0]


def decompose() -> None:
    numpy.linalg.solve(a, b)
    numpy.linalg.inv(a)
    numpy.linalg.cholesky(a @ a.T + 600 * numpy.eye(600))
    numpy.linalg.qr(small)
    numpy.linalg.svd(small)
    numpy.linalg.eigh(small)


while time.process_time() < until:
    multiply()
    decompose()
