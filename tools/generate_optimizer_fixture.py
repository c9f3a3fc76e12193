#!/usr/bin/env python3
"""Writes tests/fixtures/block_adamw.json: the values of 8-bit optimizer states in f32, as create_dynamic_map of
bitsandbytes/functional.py computes them, and steps of 8-bit AdamW on them as kOptimizerStatic8bit2StateBlockwise of its
csrc/kernels.cu defines them. numpy alone; with --compare FUNCTIONAL_PY, that file's own tables (needs torch) are held
against these."""

import ast
import json
import pathlib
import sys

import numpy as np

f32 = np.float32


def dynamic_map(signed, max_exponent_bits=7, total_bits=8):
    non_sign_bits = total_bits - 1
    assert non_sign_bits == max_exponent_bits, "no items beside those of the exponents"
    data = []
    for i in range(max_exponent_bits):
        fraction_items = 2 ** (i + non_sign_bits - max_exponent_bits + (0 if signed else 1)) + 1
        boundaries = np.linspace(0.1, 1, fraction_items, dtype=f32)
        means = (boundaries[:-1] + boundaries[1:]) / f32(2)
        values = f32(10 ** (-(max_exponent_bits - 1) + i)) * means
        data += values.tolist()
        if signed:
            data += (-values).tolist()
    data += [0.0, 1.0]
    assert len(data) == 2**total_bits
    return np.sort(np.array(data, dtype=f32))


MAPS = {name: dynamic_map(name == "signed") for name in ("signed", "unsigned")}


def nearest(values, x):
    """The code of the nearest value; no x of the fixture is near enough to a middle for ties to matter."""
    return np.abs(values[None, :].astype(np.float64) - x[:, None]).argmin(axis=1)


def encode_signed(x):
    """The sign survives: what is negative and nearest to 0 gets the code below it."""
    codes = nearest(MAPS["signed"], x)
    values = MAPS["signed"][codes]
    wrong = np.signbit(values) != np.signbit(x)
    return codes + np.where(wrong, np.where(x > 0, 1, -1), 0)


def step(state, gradient, t, *, lr, beta1, beta2, eps, weight_decay, block):
    for first in range(0, len(gradient), block):
        rows = slice(first, first + block)
        b = first // block
        g = gradient[rows].astype(np.float64)
        m = MAPS["signed"][state["m"][rows]].astype(np.float64) * state["m_scale"][b]
        v = MAPS["unsigned"][state["v"][rows]].astype(np.float64) * state["v_scale"][b]
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        correction1, correction2 = 1 - beta1**t, np.sqrt(1 - beta2**t)
        w = state["w"][rows].astype(np.float64)
        w += -lr * correction2 / correction1 * (m / (np.sqrt(v) + correction2 * eps))
        state["w"][rows] = w * (1 - lr * weight_decay)
        state["m_scale"][b], state["v_scale"][b] = np.abs(m).max(), v.max()
        state["m"][rows] = encode_signed(m / state["m_scale"][b])
        state["v"][rows] = nearest(MAPS["unsigned"], v / state["v_scale"][b])


def steps():
    random = np.random.default_rng(5)
    count, block, updates = 70, 32, 4
    hyper = {"lr": 0.01, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.0}
    blocks = -(-count // block)
    state = {
        "w": random.standard_normal(count).astype(f32),
        "m": np.zeros(count, dtype=np.int64),
        "v": np.zeros(count, dtype=np.int64),
        "m_scale": np.zeros(blocks, dtype=f32),
        "v_scale": np.zeros(blocks, dtype=f32),
    }
    out = {"block": block, **hyper, "start": state["w"].tolist(), "gradients": []}
    for t in range(1, updates + 1):
        sizes = 10.0 ** random.uniform(-4, 0, count)
        gradient = (sizes * random.standard_normal(count)).astype(f32)
        out["gradients"].append(gradient.tolist())
        step(state, gradient, t, block=block, **hyper)
    return {**out, **{name: values.tolist() for name, values in state.items()}}


def compare(functional_py):
    import torch

    tree = ast.parse(pathlib.Path(functional_py).read_text())
    wanted = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "create_dynamic_map"]
    scope = {"torch": torch}
    exec(compile(ast.Module(wanted, []), functional_py, "exec"), scope)
    for name, ours in MAPS.items():
        theirs = scope["create_dynamic_map"](signed=name == "signed").numpy()
        print(f"{name}: largest difference {np.abs(ours.view(np.int32) - theirs.view(np.int32)).max()} units in the last place")


def main():
    if "--compare" in sys.argv:
        return compare(sys.argv[sys.argv.index("--compare") + 1])
    path = pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures/block_adamw.json"
    content = {**{name: values.tolist() for name, values in MAPS.items()}, "steps": steps()}
    path.write_text(json.dumps(content) + "\n")


main()
