// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "simulator/driver/config.h"
#include "simulator/driver/entry.h"

namespace gputrace::sim {
namespace {

constexpr size_t kMaxLine = 512;

uint64_t Key(const LedgerEntry& entry) { return entry.address != 0 ? entry.address : entry.handle; }

// The members that both files share.
int PrintEntry(const LedgerEntry& entry, char* out, size_t room) {
  return snprintf(out, room,
                  "\"kind\":\"%s\",\"address\":%" PRIu64 ",\"size\":%" PRIu64
                  ",\"device\":%d,\"context\":%" PRIu64 ",\"pool\":%" PRIu64 ",\"handle\":%" PRIu64,
                  entry.kind, entry.address, entry.size, entry.device, entry.context, entry.pool,
                  entry.handle);
}

}  // namespace

void Ledger::Add(const LedgerEntry& entry) {
  live_.insert_or_assign({entry.kind, Key(entry)}, entry);
  Journal(entry, '+');
}

void Ledger::Remove(const char* kind, uint64_t address_or_handle) {
  const auto found = live_.find({kind, address_or_handle});
  if (found == live_.end()) return;
  Journal(found->second, '-');
  live_.erase(found);
}

std::string Ledger::LiveJson() const {
  std::string text = "[";
  char line[kMaxLine];
  for (const auto& [key, entry] : live_) {
    PrintEntry(entry, line, sizeof(line));
    text += (text.size() == 1 ? "{" : ",\n{");
    text += line;
    text += "}";
  }
  return text + "]";
}

// One write(2) a line, so that what was done is in the file even if the next thing is kill -9.
void Ledger::Journal(const LedgerEntry& entry, char delta) {
  if (config().journal.empty()) return;
  if (journal_ < 0) {
    journal_ = open(config().journal.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (journal_ < 0) return;
  }
  char line[kMaxLine];
  int length = snprintf(line, sizeof(line), "{\"n\":%" PRIu64 ",\"call\":\"%s\",", ++number_,
                        CurrentSymbol());
  length += PrintEntry(entry, line + length, sizeof(line) - static_cast<size_t>(length));
  length += snprintf(line + length, sizeof(line) - static_cast<size_t>(length),
                     ",\"delta\":\"%c\"}\n", delta);
  if (write(journal_, line, static_cast<size_t>(length)) != length) {
    static const char kMessage[] = "gpusim: cannot write GPUSIM_JOURNAL\n";
    if (write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1) < 0) return;
  }
}

}  // namespace gputrace::sim
