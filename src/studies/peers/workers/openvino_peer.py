"""OpenVINO on the CPU, told in which precision to run; what it ran in stands in its executed graph."""
from collections import Counter

import numpy as np
import openvino
import openvino.properties.hint as hints

from job import Operation, Refused
from network import Network, input_arrays, input_tensors, open_model, settled

TYPES = {"fp32": openvino.Type.f32, "bf16": openvino.Type.bf16, "fp16": openvino.Type.f16}
OPERANDS = {"f32": "f32", "bf16": "bf16", "f16": "f16", "u8": "u8", "i8": "s8", "f64": "f64"}
PRODUCTS = {"FullyConnected": "linear", "MatMul": "attention", "ScaledDotProductAttention": "attention",
            "LLMMLP": "linear", "QKVProjection": "linear"}


class OpenvinoPeer:
    def __init__(self, job):
        if job.precision not in TYPES:
            raise Refused(f"cannot be asked for {job.precision}")
        self.job, self.compiled = job, {}
        self.network = Network(job, open_model(job)).eval()

    def compiled_for(self, batch):
        shape = batch.ids.shape
        if shape not in self.compiled:
            tensors = input_tensors(self.job, batch)
            model = openvino.convert_model(self.network, example_input=tuple(tensors),
                                           input=[list(shape)] * len(tensors))
            config = {hints.inference_precision(): TYPES[self.job.precision],
                      hints.performance_mode(): hints.PerformanceMode.LATENCY,
                      "INFERENCE_NUM_THREADS": self.job.threads, "NUM_STREAMS": 1}
            compiled = openvino.Core().compile_model(model, "CPU", config)
            self.compiled[shape] = compiled, compiled.create_infer_request()
        return self.compiled[shape]

    def take(self, batch):
        self.batch = batch
        self.model, self.request = self.compiled_for(batch)
        self.feed = [np.ascontiguousarray(array) for array in input_arrays(self.job, batch)]

    def run(self):
        return self.request.infer(self.feed, share_inputs=True, share_outputs=True)[0]

    def logits(self, result):
        return settled(self.job, self.batch, np.asarray(result, np.float32))

    def ran(self):
        found = Counter()
        for operation in self.model.get_runtime_model().get_ordered_ops():
            info = operation.get_rt_info()
            kind = text_of(info, "layerType")
            if kind in PRODUCTS:
                found[kind, text_of(info, "primitiveType"), text_of(info, "runtimePrecision")] += 1
        return [Operation(kind, OPERANDS.get(precision, precision), PRODUCTS[kind], kernel, count, "its executed graph")
                for (kind, kernel, precision), count in found.most_common()]


def text_of(info, name):
    return str(info[name].astype(str)) if name in info else ""


def open_peer(job):
    return OpenvinoPeer(job)
