"""A program: converts a language model with its key/value cache for OpenVINO, keys and values as states of the graph, as
OpenVINO's own tools do. What then runs the graph has no PyTorch in its memory.

    python openvino_cache.py JOB GRAPH.xml      on its output {"refused": sentence} where it cannot

Of the graph: input_ids (rows, new), position_ids (rows, new), beam_idx (rows); logits (rows, 1, vocabulary) of the last
new id; a state (rows, heads, length, width) of each layer's keys, another of its values."""
import json
import os
import sys
from pathlib import Path

from openvino_run import compiled

import numpy as np
import openvino
import openvino.opset13 as opset
import torch
import transformers
from openvino._offline_transformations import apply_make_stateful_transformation
from transformers import masking_utils
from transformers.cache_utils import DynamicLayer

from job import Job, Refused, named
from network import open_model

MOST_OFF = 1e-2  # of the largest logit: by rounding graphs of the same model differ by far less
ROWS = 0  # the axis of states, by which rows are chosen
EXAMPLE_ROWS, EXAMPLE_IDS = 2, 8
GROUPS = {"group_size": 32, "ratio": 1.0, "all_layers": True}  # Of NNCF's 4 bits; its 8 take none of these.


class CachedNetwork(torch.nn.Module):
    """ids, positions and each layer's keys and values until now in; the last id's logits and all keys and values out."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        use_masks_of(model, self)

    def forward(self, ids, positions, *past):
        cache = transformers.DynamicCache()  # Whole, of layers with windows too: their masks leave out what is behind.
        cache.layers += [layer_with(keys, values) for keys, values in zip(past[::2], past[1::2])]
        self.positions, self.length = positions, past[0].shape[2] + ids.shape[1]
        logits = self.model(input_ids=ids, position_ids=positions, past_key_values=cache, use_cache=True,
                            logits_to_keep=1).logits
        return (logits, *(values for layer in cache.layers for values in (layer.keys, layer.values)))

    def mask(self, window=None):
        """(rows, 1, new, length), true where a position sees another."""
        keys, queries = torch.arange(self.length)[None, None, None], self.positions[:, None, :, None]
        seen = keys <= queries
        return seen if window is None else seen & (keys > queries - window)


def layer_with(keys, values):
    layer = DynamicLayer()
    layer.keys, layer.values = keys, values
    layer.dtype, layer.device, layer.is_initialized = keys.dtype, keys.device, True
    return layer


def use_masks_of(model, network):
    """transformers' own masks are made of functions of indices, which cannot be traced."""
    module, config = sys.modules[type(model).__module__], model.config
    made = {"create_causal_mask": network.mask,
            "create_sliding_window_causal_mask": lambda: network.mask(config.sliding_window)}
    unknown = [name for name in vars(module) if name in vars(masking_utils) and name.startswith("create_")
               and name not in made and not name.startswith(("create_bidirectional", "create_masks_for"))]
    if unknown or not any(hasattr(module, name) for name in made):
        raise Refused(f"is not asked for {type(model).__name__} with a cache: its masks are of other kinds")
    for name, mask in made.items():
        if hasattr(module, name):
            setattr(module, name, lambda *_, mask=mask, **__: mask())


@torch.inference_mode()
def exact_run(model, ids):
    """By transformers' own cache and masks: the last id's logits, and every layer's keys and values."""
    cache = transformers.DynamicCache()
    logits = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
    return logits, [values for layer in cache.layers for values in (layer.keys, layer.values)]


def positions_of(begin, ids):
    return torch.arange(begin, begin + ids.shape[1])[None].expand(*ids.shape).contiguous()


def stateful(network, ids, states):
    """The graph; `ids` are an example, `states` the keys and values behind it."""
    half = ids.shape[1] // 2
    past = [values[:, :, :half].contiguous() for values in states]
    example = (ids[:, half:].contiguous(), positions_of(half, ids[:, half:]), *past)
    with torch.inference_mode():
        model = openvino.convert_model(network, example_input=example)
    kept = range(2, len(example))
    for place, tensor in enumerate(example):
        shape = [-1, -1] if place < 2 else [-1, tensor.shape[1], -1, tensor.shape[3]]
        model.inputs[place].get_node().set_partial_shape(openvino.PartialShape(shape))
        model.inputs[place].get_tensor().set_names({name_of_input(place)})
    for place, output in enumerate(model.outputs):
        output.get_tensor().set_names({"logits" if place == 0 else f"present.{place - 1}"})
    model.validate_nodes_and_infer_types()
    choose_rows(model, [model.inputs[place] for place in kept])
    apply_make_stateful_transformation(model, {name_of_input(place): f"present.{place - 2}" for place in kept})
    begin_empty(model)
    return model


def name_of_input(place):
    return ("input_ids", "position_ids")[place] if place < 2 else f"past.{place - 2}"


def choose_rows(model, pasts):
    """As beam search does between tokens: without this choice OpenVINO's attention with a cache is not taken."""
    chosen = opset.parameter([-1], dtype=openvino.Type.i32, name="beam_idx")
    chosen.output(0).get_tensor().add_names({"beam_idx"})
    model.add_parameters([chosen])
    for past in pasts:
        consumers = past.get_target_inputs()
        rows = opset.gather(past, chosen, opset.constant(ROWS))
        for consumer in consumers:
            consumer.replace_source_output(rows.output(0))
    model.validate_nodes_and_infer_types()


def begin_empty(model):
    """States of no length, for as many rows as there are of ids."""
    rows = opset.gather(opset.shape_of(model.input("input_ids"), output_type="i64"), opset.constant([0]),
                        opset.constant(0))
    for node in model.get_ops():
        if node.get_type_name() != "ReadValue":
            continue
        extents = [opset.constant(np.array([one.min_length], np.int64)) for one in node.get_output_partial_shape(0)]
        extents[ROWS] = rows
        zero = opset.constant(0.0, dtype=node.get_output_element_type(0))
        node.set_arguments([opset.broadcast(zero, opset.concat(extents, axis=0))])
    model.validate_nodes_and_infer_types()


def check_same(job, model, ids, exact):
    """Refused where tracing has written the example into the graph: read in pieces, ids have the model's own logits."""
    request = compiled(model, openvino.Type.f32, job.threads, KV_CACHE_PRECISION=openvino.Type.f32).create_infer_request()
    length = ids.shape[1]
    for begin, end in ((0, length - 2), (length - 2, length - 1), (length - 1, length)):
        piece = ids[:, begin:end].contiguous()
        logits = request.infer({"input_ids": piece.numpy(), "position_ids": positions_of(begin, piece).numpy(),
                                "beam_idx": np.arange(len(ids), dtype=np.int32)})["logits"]
    if logits.shape != exact.shape or np.abs(logits - exact).max() > MOST_OFF * np.abs(exact).max():
        raise Refused("its graph with a cache gives other logits than the model")


def compressed(job, model):
    """Its weights in fewer bits, where the job says so: each layer's, the head and the table of ids included."""
    word = job.word("quantised")
    if word is None:
        return model
    import nncf
    mode = named(nncf.CompressWeightsMode, word)
    try:
        return nncf.compress_weights(model, mode=mode, **({} if word.startswith("INT8") else GROUPS))
    except nncf.errors.InvalidGroupSizeError as error:
        raise Refused("has layers whose inputs are no multiple of 32") from error


def converted(job, file):
    network = open_model(job)
    ids = torch.arange(3, 3 + 7 * EXAMPLE_ROWS * EXAMPLE_IDS, 7).reshape(EXAMPLE_ROWS, EXAMPLE_IDS)
    ids %= network.get_input_embeddings().num_embeddings
    exact, states = exact_run(network, ids)
    model = stateful(CachedNetwork(network), ids, states)
    check_same(job, model, ids, exact.numpy())
    openvino.save_model(compressed(job, model), str(file), compress_to_fp16=False)


def main():
    try:
        converted(Job(sys.argv[1]), Path(sys.argv[2]))
    except Refused as reason:
        print(json.dumps({"refused": str(reason)}))


main()
