"""Peers of generation: a function from (gguf, precision, threads, prompt, new, depth, batch) to (turn, what runs), or a
Refused with the reason. A turn reads `depth` ids, then the prompt (timed), then chooses `new` ids (each timed):
([prefill ms], [token ms]). Ids of depth and prompt are random, as assay's are: speed does not depend on them."""
import ctypes
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from refused import Refused

PIECE = 512  # ids of a prompt that are read at once, as in assay


def clock_ms():
    return time.perf_counter() * 1e3


# precision of assay -> (llama.cpp's name, its LLAMA_FTYPE): the same class of weights
LLAMA_TYPES = {"fp32": ("f32", 0), "fp16": ("f16", 1), "bf16": ("bf16", 32), "int8-group": ("q8_0", 7),
               "int8-weights": ("q8_0", 7), "int4": ("q4_0", 2), "int4-weights": ("q4_0", 2), "q4_k_m": ("q4_k_m", 15)}


def quantised(llama, gguf, name, ftype):
    """A GGUF beside the temporary files, of the asked type; made once."""
    path = Path(tempfile.gettempdir()) / f"{Path(gguf).stem}.peer.{name}.gguf"
    if path.exists():
        return path
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype, parameters.allow_requantize = ftype, True
    unfinished = path.with_suffix(".unfinished")
    if llama.llama_model_quantize(str(gguf).encode(), str(unfinished).encode(), ctypes.byref(parameters)) != 0:
        raise Refused(f"its quantiser does not make {name} of this file")
    unfinished.rename(path)
    return path


class LlamaContext:
    """llama.cpp by its C interface, so that no Python stands between its calls but the choice of the next id."""

    def __init__(self, llama, path, threads, capacity, batch):
        self.llama, self.batch_size = llama, batch
        llama.llama_backend_init()
        self.model = llama.llama_model_load_from_file(str(path).encode(), llama.llama_model_default_params())
        parameters = llama.llama_context_default_params()
        parameters.n_ctx, parameters.n_seq_max = capacity * batch, batch
        parameters.n_batch = parameters.n_ubatch = PIECE * batch
        parameters.n_threads = parameters.n_threads_batch = threads
        self.context = llama.llama_init_from_model(self.model, parameters)
        if not self.context:
            raise Refused("gives no context of that size")
        self.vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))
        self.batch = llama.llama_batch_init(PIECE * batch, 0, 1)

    def read(self, rows, position):
        """Reads a row of ids into each sequence from `position` on; logits of the last ones: [batch, vocabulary]."""
        entry, last = 0, []
        for sequence, ids in enumerate(rows):
            for offset, token in enumerate(ids):
                self.batch.token[entry] = token
                self.batch.pos[entry] = position + offset
                self.batch.n_seq_id[entry] = 1
                self.batch.seq_id[entry][0] = sequence
                self.batch.logits[entry] = offset + 1 == len(ids)
                entry += 1
            last.append(entry - 1)
        self.batch.n_tokens = entry
        if self.llama.llama_decode(self.context, self.batch) != 0:
            raise RuntimeError("llama_decode failed")
        return [np.ctypeslib.as_array(self.llama.llama_get_logits_ith(self.context, index), (self.vocabulary,))
                for index in last]

    def read_pieces(self, ids, position):
        logits = None
        for begin in range(0, ids.shape[1], PIECE):
            logits = self.read(ids[:, begin:begin + PIECE].tolist(), position + begin)
        return logits

    def forget_from(self, position):
        memory = self.llama.llama_get_memory(self.context)
        for sequence in range(self.batch_size):
            self.llama.llama_memory_seq_rm(memory, sequence, position, -1)


def chosen(logits):
    return [[int(row.argmax())] for row in logits]


def llama_cpp(gguf, precision, threads, prompt, new, depth, batch):
    if precision not in LLAMA_TYPES:
        raise Refused("no such precision")
    import llama_cpp as llama
    name, ftype = LLAMA_TYPES[precision]
    context = LlamaContext(llama, quantised(llama, gguf, name, ftype), threads, depth + prompt + new, batch)
    ids = np.random.default_rng(1).integers(0, context.vocabulary, (batch, depth + prompt))
    context.read_pieces(ids[:, :depth], 0)

    def turn():
        context.forget_from(depth)
        began = clock_ms()
        following = chosen(context.read_pieces(ids[:, depth:], depth))
        prefill_ms, token_ms = clock_ms() - began, []
        for step in range(new - 1):
            began = clock_ms()
            following = chosen(context.read(following, depth + prompt + step))
            token_ms.append(clock_ms() - began)
        return [prefill_ms], token_ms
    return turn, f"{name}, cache f16"


def in_ms(microseconds):
    return [one / 1e3 for one in microseconds]


OPENVINO_TYPES = {"fp16": ("f16", 1), "int8-group": ("q8_0", 7), "int8-weights": ("q8_0", 7), "int4": ("q4_0", 2),
                  "int4-weights": ("q4_0", 2)}


def openvino_genai(gguf, precision, threads, prompt, new, depth, batch):
    """Its pipeline reads GGUF of three types. The whole of depth and prompt is read anew in each turn, so that prefill
    is timed at depth 0 only."""
    if precision not in OPENVINO_TYPES:
        raise Refused("reads GGUF of F16, Q8_0 and Q4_0 only")
    import llama_cpp as llama
    import openvino as ov
    import openvino_genai as genai
    name, ftype = OPENVINO_TYPES[precision]
    pipeline = genai.LLMPipeline(str(quantised(llama, gguf, name, ftype)), "CPU", INFERENCE_NUM_THREADS=threads)
    vocabulary = len(pipeline.get_tokenizer().get_vocab())
    ids = np.random.default_rng(1).integers(0, vocabulary, (batch, depth + prompt)).astype(np.int64)
    inputs = genai.TokenizedInputs(ov.Tensor(ids), ov.Tensor(np.ones_like(ids)))
    settings = genai.GenerationConfig(max_new_tokens=new, ignore_eos=True, do_sample=False)

    def turn():
        raw = pipeline.generate(inputs, settings).perf_metrics.raw_metrics  # in microseconds
        return in_ms(raw.m_times_to_first_token) if depth == 0 else [], in_ms(raw.m_durations)
    return turn, f"weights as {name}; it does not say its cache's type"


CT2_TYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8-weights": "int8_float32",
             "int8-group": "int8_float32"}


def converted_for_ctranslate2(gguf, folder):
    """The GGUF, widened by transformers, as CTranslate2 wants it: a folder with weights and a tokenizer."""
    from ctranslate2.converters import TransformersConverter
    from transformers import AutoModelForCausalLM, AutoTokenizer
    parent, name = str(Path(gguf).parent), Path(gguf).name
    source = Path(folder) / "checkpoint"
    AutoModelForCausalLM.from_pretrained(parent, gguf_file=name).save_pretrained(source)
    AutoTokenizer.from_pretrained(parent, gguf_file=name).save_pretrained(source)
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | {"dtype": "float32"}))
    out = Path(folder) / "converted"
    TransformersConverter(str(source)).convert(str(out))
    return out


def marked(step, marks):
    """Notes when a step of the first row came; False lets the generation go on."""
    if step.batch_id == 0:
        marks.append(clock_ms())
    return False


def ctranslate2(gguf, precision, threads, prompt, new, depth, batch):
    """It generates from a prompt that it reads anew in each turn; prefill is timed at depth 0 only."""
    import ctranslate2 as ct2
    if precision not in CT2_TYPES:
        raise Refused("no such precision")
    kind = CT2_TYPES[precision]
    if kind not in ct2.get_supported_compute_types("cpu"):
        raise Refused(f"no {kind} on this processor")
    with tempfile.TemporaryDirectory() as folder:
        path = converted_for_ctranslate2(gguf, folder)
        vocabulary = json.loads((path / "vocabulary.json").read_text())
        generator = ct2.Generator(str(path), device="cpu", compute_type=kind, intra_threads=threads)
    if generator.compute_type != kind:
        raise Refused(f"was told {kind} and runs {generator.compute_type}")
    drawn = np.random.default_rng(1).integers(0, len(vocabulary), (batch, depth + prompt))
    rows = [[vocabulary[index] for index in row] for row in drawn]

    def turn():
        marks = [clock_ms()]
        generator.generate_batch(rows, max_length=new, min_length=new, sampling_topk=1, include_prompt_in_result=False,
                                 callback=lambda step: marked(step, marks))
        steps = np.diff(marks).tolist()
        return steps[:1] if depth == 0 else [], steps[1:]
    return turn, f"compute type {generator.compute_type}"


PEERS = {"llama.cpp": llama_cpp, "openvino-genai": openvino_genai, "ctranslate2": ctranslate2}
