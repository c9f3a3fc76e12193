"""Whether CUPTI gave a profile the GPU's kernels: some, each with its operation, none lost. Exits 1 with the reason.

python3 tools/gpu/kernels.py PROFILE.json...   (of `assay profile --device cuda --json`)
"""

import json
import sys


def complaint(gpu: dict) -> str:
    if not gpu.get("kernels"):
        return gpu.get("absent", "no kernels")
    lost = {key: gpu[key] for key in ("unmarked", "dropped") if gpu[key]}
    return f"{lost}" if lost else ""


for file in sys.argv[1:]:
    with open(file) as text:
        reason = complaint(json.load(text)["profile"].get("gpu", {}))
    if reason:
        sys.exit(f"{file}: {reason}")
