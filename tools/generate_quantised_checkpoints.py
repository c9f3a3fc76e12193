#!/usr/bin/env python3
"""Writes tests/fixtures/quantised: one linear layer of each way in which safetensors hold quantised weights, and its values.

Run it in an environment of its own with torch, safetensors, compressed-tensors and bitsandbytes:

    python3 tools/generate_quantised_checkpoints.py tests/fixtures/quantised

NAME.json is the model's "quantization_config", NAME.safetensors the tensors of the weight "x.weight", and in it "values" what
they mean, in f32. Values of compressed-tensors and bitsandbytes are the packages' own; those of the others follow their definitions: fp8
(transformers 5), GPTQ (AutoGPTQ's pack, with zero points less 1, and gptq_v2 without) and AWQ (AutoAWQ's gemm order).
"""
import argparse
import json
import pathlib

import bitsandbytes.functional as bnb
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
from bitsandbytes.backends.utils import _get_4bit_code
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32, unpack_from_int32
from compressed_tensors.compressors.mx_utils import decompress_mx_scale
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import dequantize
from safetensors.torch import save_file

OUT, IN = 40, 96
GENERATOR = torch.Generator().manual_seed(7)


def codes(low, high, *shape):
    return torch.randint(low, high, shape, generator=GENERATOR, dtype=torch.int32)


def scales(*shape, dtype=torch.float32):
    return (torch.rand(shape, generator=GENERATOR) * 0.1 + 0.01).to(dtype)


def save(root, name, config, tensors, values):
    (root / f"{name}.json").write_text(json.dumps(config) + "\n")
    tensors = {f"x.{key}": value.clone().contiguous() for key, value in tensors.items()}
    save_file({**tensors, "values": values.float().contiguous()}, root / f"{name}.safetensors")


def words(values, bits):
    """Codes along the last axis, the first in the lowest bits of 32-bit words."""
    each = 32 // bits
    grouped = values.reshape(*values.shape[:-1], -1, each).to(torch.int64)
    packed = sum(grouped[..., i] << (i * bits) for i in range(each))
    return torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)


def fp8(root):
    weight = torch.randn((OUT, IN), generator=GENERATOR).to(torch.float8_e4m3fn)
    block = scales(3, 3)  # of 16 x 40
    spread = block.repeat_interleave(16, 0)[:OUT].repeat_interleave(40, 1)[:, :IN]
    save(root, "fp8-blocks", {"quant_method": "fp8", "weight_block_size": [16, 40]},
         {"weight": weight, "weight_scale_inv": block}, weight.float() * spread)  # fmt: skip
    one = scales(1)
    save(root, "fp8-one", {"quant_method": "fp8"}, {"weight": weight, "weight_scale": one, "input_scale": one},
         weight.float() * one)  # fmt: skip
    row = scales(OUT, 1, dtype=torch.bfloat16)
    config = {"quant_method": "compressed-tensors", "format": "float-quantized",
              "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}}  # fmt: skip
    save(root, "ct-float", config, {"weight": weight, "weight_scale": row}, weight.float() * row.float())


def compressed(root):
    def config(form, bits, group):
        return {"quant_method": "compressed-tensors", "format": form,
                "config_groups": {"group_0": {"weights": {"num_bits": bits, "group_size": group}}}}  # fmt: skip

    whole = codes(-128, 128, OUT, IN).to(torch.int8)
    row = scales(OUT, 1)
    save(root, "ct-int8", config("int-quantized", 8, None), {"weight": whole, "weight_scale": row}, whole.float() * row)
    for bits, group, has_zeros, dtype in ((4, 32, False, torch.bfloat16), (4, 16, True, torch.float16), (8, 96, True, torch.float32),
                                          (3, 32, False, torch.float32)):  # fmt: skip
        half = 1 << (bits - 1)
        values = codes(-half, half, OUT, IN).to(torch.int8)
        scale = scales(OUT, IN // group, dtype=dtype)
        tensors = {"weight_packed": pack_to_int32(values, bits), "weight_scale": scale,
                   "weight_shape": torch.tensor([OUT, IN])}  # fmt: skip
        zeros = torch.zeros((OUT, IN // group), dtype=torch.int8)
        if has_zeros:
            zeros = codes(-half, half, OUT, IN // group).to(torch.int8)
            tensors["weight_zero_point"] = pack_to_int32(zeros, bits, packed_dim=0)
        back = unpack_from_int32(tensors["weight_packed"], bits, torch.Size([OUT, IN]))
        assert torch.equal(back, values)
        spread = lambda one: one.float().repeat_interleave(group, 1)
        save(root, f"ct-pack{bits}{'-zeros' if has_zeros else ''}", config("pack-quantized", bits, group), tensors,
             (values.float() - spread(zeros)) * spread(scale))  # fmt: skip


def random_bytes(*shape):
    return torch.randint(0, 256, shape, generator=GENERATOR, dtype=torch.int32).to(torch.uint8)


def floats_of_four_bits(root):
    """NVFP4 and MXFP4 of compressed-tensors; every code and scales over their range."""
    for name, form, group in (("ct-nvfp4", "nvfp4-pack-quantized", 16), ("ct-mxfp4", "mxfp4-pack-quantized", 32)):
        config = {"quant_method": "compressed-tensors", "format": form,
                  "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": group}}}}  # fmt: skip
        packed = random_bytes(OUT, IN // 2)
        unpacked = unpack_fp4_from_uint8(packed, OUT, IN, torch.float32)
        tensors = {"weight_packed": packed}
        if group == 16:
            tensors["weight_scale"] = (torch.rand((OUT, IN // group), generator=GENERATOR) * 400 + 1).to(torch.float8_e4m3fn)
            tensors["weight_global_scale"] = torch.tensor([1234.567])
            scale, strategy = tensors["weight_scale"].float(), "tensor_group"
        else:
            tensors["weight_scale"] = random_bytes(OUT, IN // group) // 4 + 90
            scale, strategy = decompress_mx_scale(tensors["weight_scale"]).float(), "group"
        args = QuantizationArgs(num_bits=4, type="float", strategy=strategy, group_size=group, symmetric=True)
        values = dequantize(unpacked, scale, args=args, global_scale=tensors.get("weight_global_scale"), dtype=torch.float32)
        save(root, name, config, tensors, values)


def bitsandbytes(root):
    """The packed weight's flow of blocks crosses rows where a row is no whole number of them (`odd`); the package's kernel for the
    CPU does not know that, its default operation does."""
    config = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    for name, kind, shape, nested, storage in (("bnb-nf4", "nf4", (OUT, 128), False, torch.uint8),
                                               ("bnb-nf4-nested", "nf4", (OUT, IN), True, torch.bfloat16),
                                               ("bnb-fp4-odd", "fp4", (OUT + 1, IN - 3), False, torch.uint8)):  # fmt: skip
        weight = torch.randn(shape, generator=GENERATOR)
        packed, state = bnb.quantize_4bit(weight, blocksize=64, compress_statistics=nested, quant_type=kind, quant_storage=storage)
        absmax = state.absmax
        if nested:
            absmax = bnb.dequantize_blockwise(state.absmax, state.state2) + state.offset
        code = _get_4bit_code(kind, "cpu")
        values = _dequantize_4bit_compute(packed.view(torch.uint8).reshape(-1), absmax, code, 64, shape, torch.float32)
        if shape[1] % 64 == 0:
            assert torch.equal(values, bnb.dequantize_4bit(packed, state))
        tensors = {f"weight.{key}": value for key, value in state.as_dict(packed=True).items()}
        save(root, name, config, {"weight": packed, **tensors}, values)
    whole = codes(-127, 128, OUT, IN).to(torch.int8)
    columns = torch.rand((OUT,), generator=GENERATOR) * 4 + 0.1
    save(root, "bnb-int8", {"quant_method": "bitsandbytes", "load_in_8bit": True},
         {"weight": whole, "SCB": columns, "weight_format": torch.tensor(0, dtype=torch.uint8)},
         bnb.int8_vectorwise_dequant(whole, columns))  # fmt: skip


def gptq(root):
    for name, bits, group, version, shuffled in (("gptq4", 4, 32, "gptq", False), ("gptq4-order", 4, 32, "gptq_v2", True),
                                                 ("gptq8", 8, 96, "gptq", False)):  # fmt: skip
        groups = IN // group
        weight, zeros = codes(0, 1 << bits, OUT, IN), codes(1, 1 << bits, groups, OUT)
        scale = scales(groups, OUT, dtype=torch.float16)
        g_idx = torch.arange(IN, dtype=torch.int32) // group
        if shuffled:
            g_idx = g_idx[torch.randperm(IN, generator=GENERATOR)]
        packed_zeros = zeros - (1 if version == "gptq" else 0)
        tensors = {"qweight": words(weight, bits).t(), "qzeros": words(packed_zeros, bits), "scales": scale, "g_idx": g_idx}
        values = (weight - zeros[g_idx.long()].t()).float() * scale[g_idx.long()].t().float()
        save(root, name, {"quant_method": "gptq", "bits": bits, "group_size": group, "checkpoint_format": version}, tensors, values)


def awq(root):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    groups = IN // 32
    weight, zeros = codes(0, 16, IN, OUT), codes(0, 16, groups, OUT)
    scale = scales(groups, OUT, dtype=torch.float16)
    shuffled = lambda rows: rows.reshape(rows.shape[0], -1, 8)[:, :, order].reshape(rows.shape)
    values = (weight - zeros.repeat_interleave(32, 0)).float() * scale.repeat_interleave(32, 0).float()
    save(root, "awq4", {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True},
         {"qweight": words(shuffled(weight), 4), "qzeros": words(shuffled(zeros), 4), "scales": scale}, values.t())  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    root = parser.parse_args().folder
    root.mkdir(parents=True, exist_ok=True)
    for write in (fp8, compressed, gptq, awq, floats_of_four_bits, bitsandbytes):
        write(root)


if __name__ == "__main__":
    main()
