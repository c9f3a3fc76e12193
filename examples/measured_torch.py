"""A PyTorch training loop whose phases `assay measure` tells apart:

    assay measure -- python3 examples/measured_torch.py

Ends with a sentence where torch is not installed.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import assay_markers as assay  # noqa: E402

try:
    import torch
except ImportError:
    sys.exit("measured_torch.py: torch is not installed; pip install torch")

device = "cuda" if torch.cuda.is_available() else "cpu"


def finish():
    """What a GPU was told to do is done."""
    if device == "cuda":
        torch.cuda.synchronize()


torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
rows = 256

for step in range(20):
    batch = torch.randn(rows, 512, device=device)
    with assay.phase("forward", items=rows):
        loss = (model(batch) - batch).square().mean()
        finish()
    with assay.phase("backward", items=rows):
        loss.backward()
        finish()
    with assay.phase("update", items=rows):
        optimizer.step()
        optimizer.zero_grad()
        finish()
