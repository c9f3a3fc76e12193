"""What OpenVINO's passes and its generation share: how a graph is compiled for the CPU, and what it ran in."""
import sys
from collections import Counter

sys.modules["openvino_telemetry"] = None  # Nobody is told what runs: OpenVINO and NNCF do without it.

import openvino
import openvino.properties.hint as hints

from job import Operation, named

OPERANDS = {"f32": "f32", "bf16": "bf16", "f16": "f16", "u8": "u8", "i8": "s8", "f64": "f64"}
FLOATS = ("f32", "bf16", "f16")
PRODUCTS = {"FullyConnected": "linear", "MatMul": "attention", "ScaledDotProductAttention": "attention",
            "LLMMLP": "linear", "QKVProjection": "linear"}


def hint_of(job):
    """In what to multiply floats: what the job says, else bf16 where there are instructions for it."""
    if job.word("dtype") is not None:
        return named(openvino.Type, job.word("dtype"))
    has_bf16 = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return openvino.Type.bf16 if has_bf16 else openvino.Type.f32


def compiled(model, hint, threads, **settings):
    """By every thread for one answer at a time."""
    return openvino.Core().compile_model(model, "CPU", {
        hints.inference_precision(): hint, hints.performance_mode(): hints.PerformanceMode.LATENCY,
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, **settings})


def operations_of(model):
    """Of a compiled model that ran: the nodes of its executed graph that multiply."""
    found = Counter()
    for operation in model.get_runtime_model().get_ordered_ops():
        info = operation.get_rt_info()
        kind = text_of(info, "layerType")
        if kind in PRODUCTS:
            found[kind, text_of(info, "primitiveType"), *operand_and_evidence(operation, info)] += 1
    return [Operation(kind, OPERANDS.get(operand, operand), PRODUCTS[kind], kernel, count, evidence)
            for (kind, kernel, operand, evidence), count in found.most_common()]


def operand_and_evidence(operation, info):
    """Of activations in floats by weights of fewer bits the graph names the weights' type, and multiplies in the other."""
    types = [port.get_element_type().to_string() for port in operation.inputs()[:2]]
    is_widened = len(types) == 2 and types[0] in FLOATS and types[1] not in (*FLOATS, "dynamic", "undefined")
    if is_widened and text_of(info, "layerType") == "FullyConnected":
        return types[0], f"its executed graph: {types[0]} by weights of {types[1]}"
    return text_of(info, "runtimePrecision"), "its executed graph"


def text_of(info, name):
    return str(info[name].astype(str)) if name in info else ""
