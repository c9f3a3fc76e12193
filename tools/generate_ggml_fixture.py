#!/usr/bin/env python3
"""What the gguf package (PyPI) makes of random blocks of every type: tests/fixtures/ggml_blocks.safetensors.

    pip install gguf==0.19.0 safetensors numpy
    python3 tools/generate_ggml_fixture.py tests/fixtures/ggml_blocks.safetensors

NAME.blocks u8 (blocks x bytes): random bytes whose f16 scales are finite, of both signs, some subnormal; NAME.values
f32: the elements. Two blocks of MXFP4 have the exponents whose halves are subnormal.
"""
import argparse

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from safetensors.numpy import save_file

# Where the f16 numbers of a block lie.
F16_AT = {
    Type.Q8_0: [0], Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q2_K: [80, 82],
    Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208], Type.IQ4_NL: [0], Type.IQ4_XS: [0],
    Type.MXFP4: [], Type.NVFP4: [],
}
BLOCKS = 6


def random_blocks(kind, random):
    blocks = random.integers(0, 256, (BLOCKS, GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for at in F16_AT[kind]:
        scales = (random.standard_normal(BLOCKS) * 10.0 ** random.integers(-7, 2, BLOCKS)).astype(np.float16)
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(BLOCKS, 2)
    if kind == Type.MXFP4:
        blocks[:, 0] = [0, 1, 2, 127, 200, 254]
    return blocks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    random = np.random.default_rng(1)
    tensors = {}
    for kind in F16_AT:
        blocks = random_blocks(kind, random)
        tensors[kind.name + ".blocks"] = blocks
        tensors[kind.name + ".values"] = gguf.dequantize(blocks, kind).astype(np.float32)
    save_file(tensors, parser.parse_args().out)


if __name__ == "__main__":
    main()
