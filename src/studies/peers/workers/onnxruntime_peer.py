"""ONNX Runtime on the CPU: the module exported, quantised by ONNX Runtime's own tools, all graph optimisations on."""
import json
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import torch

from job import Operation, Refused, named
from network import Network, input_arrays, input_names, input_tensors, open_model, settled

OPERANDS = {"MatMulInteger": "u8", "DynamicQuantizeMatMul": "u8", "MatMulIntegerToFloat": "u8", "QLinearMatMul": "u8",
            "MatMulNBits": "u8"}
PRODUCTS = ("MatMul", "Gemm", "FusedMatMul", "FusedGemm", *OPERANDS)
ELEMENTS = {onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.FLOAT16: "f16", onnx.TensorProto.BFLOAT16: "bf16",
            onnx.TensorProto.DOUBLE: "f64"}
PROFILED = {"float": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "s8", "uint8": "u8", "double": "f64"}


def exported(job, network, batch):
    """With rows and lengths of that batch: a graph of fixed shapes is optimised the most."""
    path = job.folder / f"model-{'x'.join(map(str, batch.ids.shape))}.onnx"
    inputs = tuple(input_tensors(job, batch))
    options = {"input_names": input_names(job), "output_names": ["result"], "external_data": True}
    with torch.no_grad():
        torch.onnx.export(network, inputs, str(path), dynamo=True, optimize=True, **options)
    return path


def in_float16(path):
    from onnxruntime.transformers.float16 import convert_float_to_float16
    out = path.with_name("fp16-" + path.name)
    model = convert_float_to_float16(onnx.load(str(path)), keep_io_types=True)
    onnx.save(model, str(out), save_as_external_data=True, location=out.name + ".data")
    return out


def quantised(path, kind):
    """Weights as that kind by channel, inputs as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process
    shaped, out = path.with_name("shaped-" + path.name), path.with_name("quantised-" + path.name)
    try:
        quant_pre_process(str(path), str(shaped), skip_symbolic_shape=True, save_as_external_data=True)
    except Exception:  # its shape inference does not take every graph, and the quantiser can do without
        shaped = path
    quantize_dynamic(str(shaped), str(out), weight_type=named(QuantType, kind), per_channel=True,
                     use_external_data_format=True)
    return out


TOOLS = {"float32": lambda path: path, "float16": in_float16}  # What makes a graph of that dtype of one in float32.


class OnnxPeer:
    def __init__(self, job):
        if job.word("dtype") not in TOOLS:
            raise Refused(f"has no tool for {job.word('dtype')}")
        self.job, self.sessions = job, {}
        self.network = Network(job, open_model(job)).eval()

    def session_for(self, batch):
        shape = batch.ids.shape
        if shape not in self.sessions:
            self.sessions[shape] = self.new_session(self.graph_for(batch))
        return self.sessions[shape]

    def graph_for(self, batch):
        path = TOOLS[self.job.word("dtype")](exported(self.job, self.network, batch))
        kind = self.job.word("quantised")
        return path if kind is None else quantised(path, kind)

    def new_session(self, path, profiles=False):
        self.path = path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.job.threads
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.enable_profiling = profiles
        options.profile_file_prefix = str(self.job.folder / "profile")
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def take(self, batch):
        self.batch = batch
        self.session = self.session_for(batch)
        self.feed = dict(zip(input_names(self.job), input_arrays(self.job, batch)))

    def run(self):
        return self.session.run(None, self.feed)[0]

    def logits(self, result):
        return settled(self.job, self.batch, np.asarray(result, np.float32))

    def ran(self):
        """What its own profile says of one pass: the operations that multiply, with the types of their inputs."""
        session = self.new_session(self.path, profiles=True)
        session.run(None, self.feed)
        with open(session.end_profiling()) as file:
            events = json.load(file)
        found = Counter()
        for event in events:
            arguments = event.get("args", {})
            name = arguments.get("op_name", "")
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time") and is_product(name):
                found[name, kind_of(name, arguments), operand_of(name, arguments)] += 1
        return [Operation(name, operand, kind, "", count, "its profile")
                for (name, kind, operand), count in found.most_common()]


def is_product(name):
    return name in PRODUCTS or "Attention" in name


def types_of(arguments):
    """Of each input: its type and its shape."""
    return [(kind, shape) for one in arguments.get("input_type_shape", []) for kind, shape in one.items()]


def kind_of(name, arguments):
    """Products of attention have no weights: both of their inputs have a shape of more than two. Weights that were packed
    beforehand are none of the inputs any more."""
    shapes = [shape for _, shape in types_of(arguments)[:2]]
    has_weights = "Attention" not in name and (len(shapes) < 2 or any(len(shape) <= 2 for shape in shapes))
    return "linear" if has_weights else "attention"


def operand_of(name, arguments):
    if name in OPERANDS:
        return OPERANDS[name]
    types = types_of(arguments)
    return PROFILED.get(types[0][0], "") if types else ""


def open_peer(job):
    return OnnxPeer(job)
