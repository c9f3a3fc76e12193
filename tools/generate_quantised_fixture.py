#!/usr/bin/env python3
"""What PyTorch's float8_e4m3fn makes of rows: tests/fixtures/e4m3.safetensors.

    python3 tools/generate_quantised_fixture.py tests/fixtures/e4m3.safetensors

x f32 (rows, width) and w f32 (outputs, width); x.q, w.q: e4m3 of the same shapes, x * (448 / largest of the row),
clamped to +-448; x.scale, w.scale: f32, largest / 448, 1 where a row is 0; y f32: the products of x.q and w.q, summed in
f64, times both scales. The first row of x has scale 1 and every number in the middle between two neighbours of e4m3,
with the f32 above and below it.
"""
import argparse

import torch
from safetensors.torch import save_file

LIMIT = 448.0
WIDTH = 512


def every_middle():
    """Numbers as far from one e4m3 as from the next, and their neighbours in f32; half of them negative."""
    values = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
    middles = (values[1:] + values[:-1]) / 2
    up, down = torch.full_like(middles, torch.inf), torch.zeros_like(middles)
    row = torch.cat([middles, middles.nextafter(up), middles.nextafter(down), values])
    row[1::2] *= -1
    return torch.cat([torch.tensor([LIMIT]), row, torch.zeros(WIDTH - 1 - len(row))])


def quantised(x):
    largest = x.abs().amax(dim=1)
    zero = largest == 0
    scale = torch.where(zero, torch.ones_like(largest), largest / LIMIT)
    inverse = torch.where(zero, torch.zeros_like(largest), LIMIT / largest)
    return (x * inverse[:, None]).clamp(-LIMIT, LIMIT).to(torch.float8_e4m3fn), scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    out = parser.parse_args().out
    torch.manual_seed(1)
    normal = torch.randn(3, WIDTH) * torch.tensor([[1.0], [1e-20], [3e7]])
    wide = torch.randn(2, WIDTH) * torch.exp2(torch.randint(-24, 5, (2, WIDTH)).float())
    outlier = torch.randn(1, WIDTH)
    outlier[0, 100] = 500
    x = torch.cat([every_middle()[None], normal, wide, outlier, torch.zeros(1, WIDTH)])
    w = torch.randn(5, WIDTH) / WIDTH**0.5
    (xq, xs), (wq, ws) = quantised(x), quantised(w)
    y = xq.double() @ wq.double().T * xs.double()[:, None] * ws.double()[None]
    save_file({"x": x, "x.q": xq, "x.scale": xs, "w": w, "w.q": wq, "w.scale": ws, "y": y.float()}, out)


if __name__ == "__main__":
    main()
