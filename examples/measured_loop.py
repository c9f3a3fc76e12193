"""A loop whose phases `assay measure` tells apart, in plain Python:

    assay measure -- python3 examples/measured_loop.py
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import assay_markers as assay  # noqa: E402

rows, width = 64, 96
weights = [[random.gauss(0, 0.1) for _ in range(width)] for _ in range(width)]

for step in range(4):
    with assay.phase("data", items=rows):
        batch = [[random.random() for _ in range(width)] for _ in range(rows)]
    with assay.phase("forward", items=rows):
        hidden = [[sum(x * w for x, w in zip(row, column)) for column in weights] for row in batch]
    with assay.phase("backward", items=rows):
        gradient = [[sum(h[i] * row[j] for h, row in zip(hidden, batch)) for j in range(width)] for i in range(width)]
    with assay.phase("update"):
        weights = [[w - 1e-6 * g for w, g in zip(ws, gs)] for ws, gs in zip(weights, gradient)]
