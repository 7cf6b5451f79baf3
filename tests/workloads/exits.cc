// SPDX-License-Identifier: Apache-2.0
// Ends in the way that the argument names, after some calls.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <thread>

#include "tests/workloads/check.h"

namespace {

CUdeviceptr g_static_memory;

// Frees in a static destructor, as programs do, after the tracer's own exit handler may have run.
struct FreesAtExit {
  ~FreesAtExit() {
    if (g_static_memory != 0) CHECK(cuMemFree(g_static_memory));
  }
};
FreesAtExit g_frees_at_exit;

void Allocate(size_t size) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, size));
}

int Fork() {
  Allocate(1 << 20);
  const pid_t child = fork();
  if (child == 0) {
    // A child cannot use the driver that its parent has initialised. What counts is that its calls
    // do not get into its parent's trace.
    CUdeviceptr address = 0;
    for (int i = 0; i < 10; ++i)
      EXPECT_RESULT(cuMemAlloc(&address, 4096), CUDA_ERROR_NOT_INITIALIZED);
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Allocate(2 << 20);
  return WEXITSTATUS(status);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string way = count == 2 ? arguments[1] : "";
  UsePrimary();
  Allocate(1000);
  if (way == "static") CHECK(cuMemAlloc(&g_static_memory, 5000));
  if (way == "_exit") _exit(7);
  if (way == "abort") abort();
  if (way == "segv") raise(SIGSEGV);
  if (way == "thread") std::thread([] { exit(9); }).join();
  if (way == "fork") return Fork();
  if (way == "exec") execl("/bin/echo", "echo", "another program", nullptr);
  if (way == "pthread_exit") pthread_exit(nullptr);
  if (way == "worker_is_last") {
    std::thread([] {
      usleep(100'000);
      UsePrimary();
      Allocate(2000);
    }).detach();
    pthread_exit(nullptr);
  }
  if (way == "first_thread_gone") {
    std::thread([] { sleep(60); }).detach();
    pthread_exit(nullptr);
  }
  if (way == "quick_exit") quick_exit(5);
  return 0;
}
