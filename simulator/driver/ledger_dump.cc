// SPDX-License-Identifier: Apache-2.0
// GPUSIM_LEDGER: the account as a file, at exit and on SIGUSR2.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "simulator/driver/config.h"
#include "simulator/driver/driver.h"
#include "simulator/driver/entry.h"

namespace gputrace::sim {
namespace {

std::string DevicesJson(const Driver& driver) {
  std::string text = "[";
  for (const auto& device : driver.devices) {
    if (text.size() > 1) text += ",";
    text += "{\"index\":" + std::to_string(device->ordinal) +
            ",\"total\":" + std::to_string(device->total) +
            ",\"used\":" + std::to_string(device->total - device->Free()) + ",\"uuid\":\"" +
            device->UuidText() + "\"}";
  }
  return text + "]";
}

std::string CallsJson() {
  std::string text = "{";
  for (unsigned i = 0; i < kEntryCount; ++i) {
    const uint64_t calls = g_calls[i].load(std::memory_order_relaxed);
    if (calls == 0) continue;
    if (text.size() > 1) text += ",";
    text += "\"" + std::string(kEntries[i].symbol) + "\":" + std::to_string(calls);
  }
  return text + "}";
}

// A reader never sees half a file: it is written beside the name and then takes it.
void WriteLedger() {
  const std::string& path = config().ledger;
  std::string text;
  {
    const Guard guard;
    const Driver& driver = TheDriver();
    text = "{\"pid\":" + std::to_string(getpid()) + ",\n\"devices\":" + DevicesJson(driver) +
           ",\n\"live\":" + driver.ledger.LiveJson() + ",\n\"calls\":" + CallsJson() + "}\n";
  }
  const std::string draft = path + "." + std::to_string(getpid());
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool written = file >= 0;
  for (size_t done = 0; written && done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    written = n > 0;
    if (written) done += static_cast<size_t>(n);
  }
  if (file >= 0) close(file);
  if (!written || rename(draft.c_str(), path.c_str()) != 0) {
    fprintf(stderr, "gpusim: cannot write GPUSIM_LEDGER=%s\n", path.c_str());
  }
}

// The handler may interrupt a thread that holds the driver's lock, so another thread writes.
sem_t g_wanted;

void OnSignal(int) { sem_post(&g_wanted); }

void* DumpOnDemand(void*) {
  for (;;) {
    while (sem_wait(&g_wanted) != 0) {
    }
    WriteLedger();
  }
  return nullptr;
}

// Runs after the exit handlers and destructors of the program, which may still free memory.
[[gnu::destructor]] void WriteLedgerAtExit() {
  if (!config().ledger.empty() && TheDriver().initialized && !TheDriver().inherited) WriteLedger();
}

void StartDumpThread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, DumpOnDemand, nullptr) == 0) {
    pthread_setname_np(thread, "gpusim-ledger");
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void StartLedgerDumps() {
  if (config().ledger.empty()) return;
  sem_init(&g_wanted, 0, 0);
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR2, &action, nullptr);
  StartDumpThread();
}

}  // namespace gputrace::sim
