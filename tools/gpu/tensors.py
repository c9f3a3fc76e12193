"""Safetensors without other packages: read as f32, and a model's folder copied with its f32 tensors in 16 bits."""
import array
import json
import pathlib
import shutil
import struct

PIECE = 1 << 16  # Elements converted at a time.


def header_of(file):
    size = struct.unpack("<Q", file.read(8))[0]
    header = json.loads(file.read(size))
    return header, 8 + size


def read(path):
    """name -> (shape, f32 values) of a file that holds f32 only, as `assay dump` writes it."""
    tensors = {}
    with open(path, "rb") as file:
        header, begin = header_of(file)
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            if entry["dtype"] != "F32":
                raise ValueError(f"{path}: {name} is {entry['dtype']}")
            first, last = entry["data_offsets"]
            file.seek(begin + first)
            values = array.array("f")
            values.frombytes(file.read(last - first))
            tensors[name] = (entry["shape"], values)
    return tensors


def halved_header(header):
    halved, offset = {}, 0
    for name, entry in sorted(((n, e) for n, e in header.items() if n != "__metadata__"),
                              key=lambda item: item[1]["data_offsets"][0]):
        first, last = entry["data_offsets"]
        is_f32 = entry["dtype"] == "F32"
        size = (last - first) // 2 if is_f32 else last - first
        halved[name] = {"dtype": "BF16" if is_f32 else entry["dtype"], "shape": entry["shape"],
                        "data_offsets": [offset, offset + size]}
        offset += size
    return halved


def copy_halved(source, target):
    """Every f32 tensor of a safetensors file as bf16, rounded to nearest even; others as they are. (f16 would be as
    small, but its mantissas do not compress.)"""
    with open(source, "rb") as file, open(target, "wb") as out:
        header, begin = header_of(file)
        halved = halved_header(header)
        text = json.dumps(halved).encode()
        text += b" " * (-len(text) % 8)
        out.write(struct.pack("<Q", len(text)) + text)
        for name in halved:
            first, last = header[name]["data_offsets"]
            file.seek(begin + first)
            if header[name]["dtype"] != "F32":
                out.write(file.read(last - first))
                continue
            for done in range(first, last, 4 * PIECE):
                bits = array.array("I")
                bits.frombytes(file.read(min(4 * PIECE, last - done)))
                out.write(array.array("H", [(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits]).tobytes())


def stage_model(source, target):
    """A model's folder with its weights in 16 bits."""
    source, target = pathlib.Path(source), pathlib.Path(target)
    target.mkdir(parents=True)
    for file in source.iterdir():
        if file.suffix == ".safetensors":
            copy_halved(file, target / file.name)
        elif file.is_file():
            shutil.copyfile(file, target / file.name)


if __name__ == "__main__":
    import sys
    stage_model(*sys.argv[1:])
