// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/watcher.h"

#include "tests/truth/marks.h"

namespace gputrace::truth {
namespace {

// Blocks of pools are multiples of it (simulator/README.md).
constexpr uint64_t kBlockBytes = 512;

using ledger::Account;
using trace::ObjectKind;

// The journal's word for an object of the ledger's; kNoKind for what is in no journal.
std::string_view KindOf(const ledger::Allocation& allocation) {
  switch (allocation.kind) {
    case ObjectKind::kDevice:
      return "device";
    case ObjectKind::kManaged:
      return "managed";
    case ObjectKind::kPinned:
      return "pinned";
    case ObjectKind::kRegistered:
      return "registered";
    case ObjectKind::kPoolBlock:
      return "pool";
    case ObjectKind::kVmmHandle:
      return allocation.account == Account::kAlias ? "vmm_import" : "vmm";
    case ObjectKind::kReservedVa:
      return "reserved_va";
    case ObjectKind::kArray:
      return "array";
    case ObjectKind::kMipmap:
      return "mipmap";
    case ObjectKind::kExternalMemory:
      return "external_memory";
    case ObjectKind::kModule:
      return "module";
    case ObjectKind::kLibrary:
      return "library";
    case ObjectKind::kIpcImport:
    case ObjectKind::kExternalBuffer:
      return "alias";
    case ObjectKind::kMulticast:
      return "multicast";
    case ObjectKind::kContext:
      return "context";
    case ObjectKind::kStream:
      return "stream";
    case ObjectKind::kEvent:
      return "event";
    case ObjectKind::kGreenContext:
      return "green_context";
    case ObjectKind::kPool:
      return "mempool";
    case ObjectKind::kGraphExec:
      return "graph_exec";
    default:
      return "";
  }
}

}  // namespace

Watcher::Watcher(const ingest::Job& job, truth::Account* account) : job_(job), account_(*account) {}

void Watcher::Next(const trace::Record& record) {
  ++number_;
  const trace::EntryDescriptor* entry =
      job_.processes()[0].reader->dictionary().entry(record.entry);
  call_ = entry == nullptr ? "" : std::string_view(entry->symbol);
}

void Watcher::OnAllocate(const ledger::Allocation& allocation) {
  // The stand-in counts it as freed from the call on.
  if (allocation.account == ledger::Account::kPoolPending) return;
  Count(allocation, true);
  const size_t kind = FindKind(KindOf(allocation));
  if (kind != kNoKind) account_.Add(kind, allocation.address, Describe(allocation, true));
}

void Watcher::OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent&) {
  if (allocation.account == ledger::Account::kPoolPending) return;
  Count(allocation, false);
  const size_t kind = FindKind(KindOf(allocation));
  if (kind != kNoKind) account_.Add(kind, allocation.address, Describe(allocation, false));
}

void Watcher::OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent&, int64_t) {
  Count(allocation, true);
  const size_t kind = FindKind(KindOf(allocation));
  if (kind != kNoKind) account_.TakeBackEnd(kind, allocation.address, allocation.id);
}

void Watcher::OnSample(const ledger::Sample& sample) {
  if (!quiet_ || sample.kind != ledger::SampleKind::kPool ||
      sample.second == ledger::kUnknownValue || sample.second == used_[sample.object] ||
      !wrong_sample_.empty()) {
    return;
  }
  wrong_sample_ = "record " + std::to_string(number_) + ": of a pool " +
                  std::to_string(sample.second) +
                  " bytes are used, says the driver; the ledger has " +
                  std::to_string(used_[sample.object]) + "\n";
}

void Watcher::Count(const ledger::Allocation& allocation, bool begins) {
  if (allocation.kind == ObjectKind::kReservedVa && allocation.bytes >= kMarkBase) quiet_ = begins;
  if (allocation.kind == ObjectKind::kMapping) {
    account_.AddToTotal(FindKind("extra_mapping"), begins ? 1 : -1);
  }
  if (allocation.kind != ObjectKind::kPoolBlock) return;
  const uint64_t bytes = (allocation.bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  used_[allocation.pool] += begins ? bytes : -bytes;
}

Change Watcher::Describe(const ledger::Allocation& allocation, bool begins) const {
  Change change;
  change.begins = begins;
  change.device = OrdinalOf(allocation.device);
  change.size = allocation.bytes;
  change.pool = allocation.pool;
  change.number = number_;
  change.id = allocation.id;
  change.call = call_;
  return change;
}

int32_t Watcher::OrdinalOf(int32_t device) const {
  const std::vector<int32_t>& devices = job_.processes()[0].devices;
  for (size_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    if (devices[ordinal] == device) return static_cast<int32_t>(ordinal);
  }
  return ledger::kHost;
}

}  // namespace gputrace::truth
