#include <utility>

#include "base/clock.h"
#include "kernels/cuda/host/toolkit/event.h"

namespace assay::cuda {
namespace {

class Graph final : public Recording {
 public:
  Graph(cudaStream_t stream, cudaGraphExec_t graph) : stream_(stream), graph_(graph) {}
  ~Graph() override {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void enqueue() const override { check(cudaGraphLaunch(graph_, stream_), "launching a graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_;
};

/// Ends the capture, whatever became of the work in it.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    // Only this thread's calls are held to what a capture allows: a meter may read on another one.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording work");
  }
  ~Capture() {
    if (stream_ == nullptr) return;
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // That the capture broke is what the exception on its way says.
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  cudaGraph_t end() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph), "recording work");
    return graph;
  }

 private:
  cudaStream_t stream_;
};

/// A queue that is full lets the host wait for the gate, which the host would open: then the gate opens by itself.
constexpr double most_held_s = 0.5;

/// Holds back what is queued behind it until it is opened.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) : stream_(stream) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(Shared), cudaHostAllocDefault), "allocating memory of the host");
    shared_ = new (memory) Shared;
    hold_stream(&shared_->is_open, &shared_->has_expired, most_held_s);
  }
  ~Gate() {
    open();
    cudaStreamSynchronize(stream_);
    cudaFreeHost(shared_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() const { shared_->is_open = 1; }
  bool has_expired() const { return shared_->has_expired != 0; }

 private:
  struct Shared {  ///< By host and GPU.
    volatile int is_open = 0;
    volatile int has_expired = 0;
  };
  cudaStream_t stream_;
  Shared* shared_ = nullptr;
};

}  // namespace

std::unique_ptr<Recording> record_graph(cudaStream_t stream, const std::function<void()>& work) {
  Capture capture(stream);
  work();
  const cudaGraph_t graph = capture.end();
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // It is not for the next call to report.
    return nullptr;
  }
  check(status, "making a graph");
  return std::make_unique<Graph>(stream, executable);
}

DeviceTime time_held_back(cudaStream_t stream, const std::function<void()>& work) {
  check(cudaStreamSynchronize(stream), "waiting for the GPU");
  const Event begin;
  const Event end;
  const Gate gate(stream);
  begin.record(stream);
  const double from_s = now_s();
  work();
  const double enqueue_s = now_s() - from_s;
  end.record(stream);
  gate.open();
  DeviceTime time;
  time.device_s = end.ms_since(begin) * 1e-3;
  if (!gate.has_expired()) time.enqueue_s = enqueue_s;
  return time;
}

}  // namespace assay::cuda
