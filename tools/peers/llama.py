"""llama.cpp as a peer, where its Python package is installed: a GGUF of smollm2-135m, logits of the last position."""
import os
from pathlib import Path

import torch

from refused import Refused

GGUF_VARIABLE = "ASSAY_PEER_GGUF"


def llama_cpp(name, ids, precision):
    if name != "smollm2-135m":
        raise Refused("only run for smollm2-135m")
    if precision != "fp16":
        raise Refused("the GGUF at hand holds another precision")
    try:
        import llama_cpp as llama
    except ImportError as error:
        raise Refused("its package is not installed") from error
    path = Path(os.environ.get(GGUF_VARIABLE, ""))
    if not path.is_file():
        raise Refused(f"{GGUF_VARIABLE} names no file")
    threads = torch.get_num_threads()
    model = llama.Llama(str(path), n_ctx=ids.shape[1], n_batch=ids.shape[1], n_threads=threads,
                        n_threads_batch=threads, logits_all=False, verbose=False)
    tokens = ids[0].tolist()

    def run():
        model.reset()
        model.eval(tokens)
    return run, f"weights as in {path.name}"
