// SPDX-License-Identifier: Apache-2.0
// A second process that is given memory of the first: by IPC handle, by descriptor, out of a pool.
#ifndef GPUTRACE_TESTS_TRUTH_PEER_H_
#define GPUTRACE_TESTS_TRUTH_PEER_H_

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <sys/types.h>

#include <cstdint>

namespace gputrace::truth {

// What the first process shares this time.
struct Offer {
  uint64_t seed = 0;  // decides what the peer does with it
  bool has_memory = false;
  CUipcMemHandle memory = {};
  bool has_pointer = false;
  CUmemPoolPtrExportData pointer = {};
  int physical = -1;  // descriptors; -1: none
  int pool = -1;
};

class Peer {
 public:
  // Forks it off: to be called before the driver is. Its journal and account are the names of the
  // first process's with ".peer" behind them.
  Peer();
  // Lets it end and waits.
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Returns when the peer has done some dozen calls.
  void TakeTurn(const Offer& offer);

 private:
  int socket_ = -1;
  pid_t child_ = -1;
};

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_PEER_H_
