// The one file that knows MPI: compiled where CMake finds one, into a library beside the program.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "processes/mpi/calls.h"

namespace {

/// Errors are told, not obeyed: by default MPI would end the program without a word of ours.
const char* init() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return "MPI_Init failed";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return nullptr;
}

int rank() {
  int mine = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  return mine;
}

int size() {
  int all = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  return all;
}

const char* library() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::replace(text, text + length, '\n', ' ');
  return text;
}

void* kept(MPI_Request request, int status) {
  return status == MPI_SUCCESS ? new MPI_Request(request) : nullptr;
}

void* send(int to, int tag, const void* bytes, std::size_t count) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int status = MPI_Isend(bytes, static_cast<int>(count), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
  return kept(request, status);
}

void* receive(int from, int tag, void* bytes, std::size_t count) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int status = MPI_Irecv(bytes, static_cast<int>(count), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
  return kept(request, status);
}

void* sum_f32(void* values, std::size_t count) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int status =
      MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  return kept(request, status);
}

/// MPI knows neither bf16 nor f16, and its operations carry no data of ours: an operation for each way of adding.
struct WayOfAdding {
  AssayMpiAdd add = nullptr;
  MPI_Op operation = MPI_OP_NULL;
};
WayOfAdding ways[2];

template <int way>
void add_values(void* values, void* sum, int* count, MPI_Datatype*) {
  ways[way].add(values, sum, static_cast<std::size_t>(*count));
}

MPI_Op operation_for(AssayMpiAdd add) {
  MPI_User_function* const functions[] = {add_values<0>, add_values<1>};
  for (int way = 0; way < 2; ++way) {
    if (ways[way].add == add) return ways[way].operation;
    if (ways[way].add != nullptr) continue;
    ways[way].add = add;
    MPI_Op_create(functions[way], 1, &ways[way].operation);
    return ways[way].operation;
  }
  return MPI_OP_NULL;
}

void* sum_16_bit(void* values, std::size_t count, AssayMpiAdd add) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int status = MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_UINT16_T, operation_for(add),
                                    MPI_COMM_WORLD, &request);
  return kept(request, status);
}

int test(void* request) {
  auto* const waiting = static_cast<MPI_Request*>(request);
  int done = 0;
  const int status = MPI_Test(waiting, &done, MPI_STATUS_IGNORE);
  if (status == MPI_SUCCESS && done == 0) return 0;
  delete waiting;
  return status == MPI_SUCCESS ? 1 : -1;
}

int take_text(int tag, char* text, std::size_t size) {
  MPI_Status status;
  int is_there = 0;
  if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &is_there, &status) != MPI_SUCCESS || is_there == 0) return -1;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  std::vector<char> bytes(static_cast<std::size_t>(std::max(count, 0)) + 1, '\0');
  if (MPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return -1;
  const std::size_t taken = std::min(size, bytes.size());
  std::copy_n(bytes.begin(), taken, text);
  text[taken - 1] = '\0';
  return status.MPI_SOURCE;
}

void finalize() {
  MPI_Finalize();
}

}  // namespace

extern "C" const AssayMpiCalls* assay_mpi_calls() {
  static const AssayMpiCalls calls = {init,    rank,       size, library,   send,    receive,
                                      sum_f32, sum_16_bit, test, take_text, finalize};
  return &calls;
}
