// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/journal.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simulator/driver/exports.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

int g_journal = -1;
uint64_t g_number;

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string Format(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

std::string LiveEntry(const char* kind, uint64_t address, size_t size, int device, const void* context,
                      const void* pool, const void* handle) {
  return Format("{\"kind\":\"%s\",\"address\":%" PRIu64 ",\"size\":%zu,\"device\":%d,\"context\":%" PRIu64
                ",\"pool\":%" PRIu64 ",\"handle\":%" PRIu64 "}",
                kind, address, size, device, reinterpret_cast<uint64_t>(context),
                reinterpret_cast<uint64_t>(pool), reinterpret_cast<uint64_t>(handle));
}

const char* KindOf(const Allocation& allocation) {
  static constexpr const char* kNames[] = {"device", "managed", "pinned", "registered",
                                           "pool",   "reserved_va", "graph"};
  return kNames[static_cast<size_t>(allocation.kind)];
}

std::string LiveText() {
  std::string text;
  const auto add = [&text](const std::string& entry) {
    text += (text.empty() ? "\n  " : ",\n  ") + entry;
  };
  for (const auto& [address, a] : state().allocations) {
    add(LiveEntry(KindOf(a), address, a.size, a.device, a.context, a.pool, nullptr));
  }
  for (const Physical* p : state().physicals) {
    if (p->alive) add(LiveEntry("vmm", 0, p->size, p->device, nullptr, nullptr, p));
  }
  for (const auto& [address, m] : state().mappings) {
    add(LiveEntry("mapping", address, m.size, m.physical->device, nullptr, nullptr, m.physical));
  }
  for (const Array* a : state().arrays) {
    if (a->alive) add(LiveEntry("array", 0, a->size, a->context->device, a->context, nullptr, a));
  }
  return text;
}

std::string LedgerText() {
  std::string text = "{\"devices\":[";
  for (size_t i = 0; i < state().devices.size(); ++i) {
    const Device& device = state().devices[i];
    text += Format("%s{\"index\":%zu,\"total\":%zu,\"used\":%zu}", i > 0 ? "," : "", i, device.total,
                   device.used);
  }
  text += "],\n \"live\":[" + LiveText() + "],\n \"calls\":{";
  bool first = true;
  for (uint32_t i = 0; i < kExportCount; ++i) {
    const uint64_t calls = g_calls[i].load();
    if (calls == 0) continue;
    text += Format("%s\"%s\":%" PRIu64, first ? "" : ",", kExports[i].symbol, calls);
    first = false;
  }
  return text + "}}\n";
}

void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

// Takes SIGUSR2 out of the hands of the program's threads and dumps in a normal thread: a handler may
// not take the lock.
void* DumpOnSignal(void*) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR2);
  for (;;) {
    int signal_number = 0;
    if (sigwait(&wanted, &signal_number) == 0) DumpLedger();
  }
  return nullptr;
}

}  // namespace

void NoteChange(const Change& change) {
  const std::string& path = state().config.journal;
  if (path.empty()) return;
  if (g_journal < 0) g_journal = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  WriteAll(g_journal, Format("{\"n\":%" PRIu64 ",\"call\":\"%s\",\"delta\":\"%c\",\"kind\":\"%s\","
                             "\"address\":%" PRIu64 ",\"size\":%zu,\"device\":%d,\"context\":%" PRIu64
                             ",\"pool\":%" PRIu64 ",\"handle\":%" PRIu64 "}\n",
                             ++g_number, change.call, change.delta, change.kind, change.address,
                             change.size, change.device, change.context, change.pool, change.handle));
}

void DumpLedger() {
  const Locked locked;
  const std::string& path = state().config.ledger;
  if (path.empty()) return;
  // Renamed into place: whoever waits for the file sees all of it.
  const std::string temporary = path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  WriteAll(fd, LedgerText());
  close(fd);
  rename(temporary.c_str(), path.c_str());
}

void ArrangeLedgerDumps() {
  if (state().config.ledger.empty()) return;
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, DumpOnSignal, nullptr) == 0) pthread_detach(thread);
}

}  // namespace gputrace::sim

// After the program's own exit handlers and destructors, as far as the loader's order allows.
__attribute__((destructor)) static void DumpAtExit() { gputrace::sim::DumpLedger(); }
