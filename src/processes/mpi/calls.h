#pragma once

#include <cstddef>

// What the program asks of MPI, as a table of C functions: mpi/module.cc fills it and is the only file that knows MPI.
// It is a library of its own, opened where the program was started as one of several ranks, so that the program needs
// no MPI to start. No exception crosses it.

extern "C" {

/// Adds `count` values to `sum`, in the dtype that it is for.
using AssayMpiAdd = void (*)(const void* values, void* sum, std::size_t count);

struct AssayMpiCalls {
  /// 0, or why not: a text that stays.
  const char* (*init)();
  int (*rank)();
  int (*size)();
  const char* (*library)();
  /// Requests; null where the library refused. At most 2^30 bytes.
  void* (*send)(int to, int tag, const void* bytes, std::size_t count);
  void* (*receive)(int from, int tag, void* bytes, std::size_t count);
  /// Sum over all ranks in place, of f32 or, with `add`, of 16-bit values; `count` values, at most 2^30.
  void* (*sum_f32)(void* values, std::size_t count);
  void* (*sum_16_bit)(void* values, std::size_t count, AssayMpiAdd add);
  /// 1: done, and the request is gone; 0: not yet; -1: it failed, and is gone.
  int (*test)(void* request);
  /// Receives a text that some rank sent with that tag: its rank, or -1 where there is none. `text` ends with 0.
  int (*take_text)(int tag, char* text, std::size_t size);
  void (*finalize)();
};

const AssayMpiCalls* assay_mpi_calls();

}  // extern "C"
