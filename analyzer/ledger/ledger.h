// SPDX-License-Identifier: Apache-2.0
// Reconstructs the state of one process's memory from its trace, call by call.
//
// What a call means is taken from the descriptors that the trace carries, never from a function's
// name: so a trace of functions that this program has never heard of is understood.
#ifndef GPUTRACE_ANALYZER_LEDGER_LEDGER_H_
#define GPUTRACE_ANALYZER_LEDGER_LEDGER_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "analyzer/ledger/context_table.h"
#include "analyzer/ledger/entry_plan.h"
#include "analyzer/ledger/object_table.h"
#include "analyzer/ledger/observer.h"
#include "analyzer/ledger/share_table.h"
#include "analyzer/ledger/site_table.h"
#include "analyzer/ledger/stream_order.h"
#include "trace/record.h"

namespace gputrace::ledger {

// What a ledger must know of the process before its first record.
struct ProcessDescription {
  uint32_t process = 0;  // position in the job
  absl::Span<const trace::EntryDescriptor> entries;
  std::vector<ContextInfo> contexts;  // by dictionary id - 1
  std::vector<int32_t> devices;  // device ordinal in the process -> position in the job's devices
  // Ids above these are damage; such a record's stack or thread counts as unknown.
  uint32_t native_stacks = 0;
  uint32_t python_stacks = 0;
  uint32_t threads = 0;
  // What the job's processes share with each other; may be null. Outlives the ledger.
  ShareTable* shares = nullptr;
};

// Successful frees of what was not seen coming into being, by the call's entry and stack.
using UnknownFrees = absl::flat_hash_map<std::pair<uint16_t, uint32_t>, uint64_t>;

// What did not add up.
struct LedgerCounters {
  uint64_t unknown_frees = 0;    // succeeded, of something whose coming into being was not recorded
  uint64_t unseen_frees = 0;     // an address came into being while it was live
  uint64_t failed_frees = 0;     // the driver refused
  uint64_t malformed = 0;        // records that lack operands they must have
  uint64_t unknown_entries = 0;  // records of entries that the trace does not describe
};

// Not thread-safe. Memory: the live objects, and a few words per site, context and thread.
class Ledger {
 public:
  // `sites` and the observers outlive the ledger; `sites` may be shared by the ledgers of a job.
  Ledger(ProcessDescription process, SiteTable* sites, std::vector<Observer*> observers);

  // Records must come in the trace's order, their times on the job's clock.
  void Apply(const trace::Record& record);

  // Slots that are not `live` are free ones.
  const std::vector<Allocation>& slots() const { return objects_.slots(); }
  size_t live() const { return objects_.live(); }
  const LedgerCounters& counters() const { return counters_; }
  const UnknownFrees& unknown_frees() const { return unknown_frees_; }
  // Memory that was freed in stream order and is not among the slots any more.
  const StreamOrder& stream_order() const { return stream_order_; }

 private:
  struct Mapping {
    uint64_t size = 0;
    uint32_t slot = 0;                         // of the memory behind it; kNone if that is unknown
    uint64_t id = 0;                           // … which must still be this one
    uint32_t alias_slot = ObjectTable::kNone;  // what the mapping counts for in the alias account
  };
  struct Binding {
    uint32_t slot = 0;  // of the memory
    uint64_t id = 0;
  };
  // Of a multicast object by its id: where in it, and on which device.
  using BindingKey = std::tuple<uint64_t, uint64_t, int32_t>;
  // One thing that an intent did, to be taken back if the call fails.
  struct Undo {
    enum class Kind : uint8_t {
      kFreed,
      kReleased,
      kUnmapped,
      kPromoted,
      kUnbound,
      kCurrentPool,
      kUnknownFree,
      kContext,
      kPending
    };
    Kind kind = Kind::kFreed;
    // kFreed: as it was. kReleased: whose reference. kCurrentPool: the pool, and of which device.
    Allocation allocation;
    FreeEvent event;       // kFreed
    uint64_t address = 0;  // kUnmapped, kPromoted: of the mapping
    Mapping mapping;
    BindingKey binding_key;  // kUnbound
    Binding binding;
    uint32_t context = 0;  // kContext
    ContextState state;
    StreamOrder::FreeId free;        // kPending
    UnknownFrees::key_type unknown;  // kUnknownFree
  };
  struct Pending {
    uint16_t entry = 0;
    bool active = false;
    uint32_t native_stack = 0;
    uint32_t python_stack = 0;
    absl::InlinedVector<uint64_t, 4> operands;
    std::vector<Undo> undo;
  };
  struct SharedMemory {
    uint32_t slot = 0;
    uint64_t id = 0;
  };
  struct PoolState {
    int32_t device = kHost;
    bool located = false;
  };

  // ledger.cc: records and intents.
  void ApplyCall(const trace::Record& record, const EntryPlan& plan);
  void ApplyIntent(const trace::Record& record, const EntryPlan& plan);
  void ApplyCompletion(const trace::Record& record, const EntryPlan& plan);
  void ApplySampleRecord(const trace::Record& record);
  void NoteFailure(const trace::Record& record, const EntryPlan& plan);
  void RunStep(const Step& step, const Operands& operands, const trace::Record& record,
               Pending* log);
  Pending& PendingOf(uint32_t thread);
  void TakeBack(Pending* log, const trace::Record& record);
  void NoteTeardown(Pending* log);
  const EntryPlan& PlanOf(uint16_t entry) const;

  // ledger_objects.cc: things that open and close.
  void Open(const Step& step, const Operands& operands, const trace::Record& record);
  Allocation& Allocate(const Allocation& allocation);
  void Close(const Step& step, const Operands& operands, const trace::Record& record, Pending* log);
  void Release(const Step& step, const Operands& operands, const trace::Record& record,
               Pending* log);
  void End(const Allocation& allocation, FreeCause cause, const trace::Record& record,
           Pending* log);
  void NoteUnknownFree(const trace::Record& record, Pending* log);
  Allocation Describe(trace::ObjectKind kind, uint64_t key, const trace::Record& record);
  // Where its memory is; `kHost` for host memory.
  int32_t Locate(trace::ObjectKind kind, const Operands& operands, const trace::Record& record,
                 uint64_t* pool);
  int32_t DeviceOfStream(const Operands& operands, const trace::Record& record);
  bool InCapture(const Operands& operands) const;

  // ledger_vmm.cc: reference-counted memory and its mappings.
  void Import(const Operands& operands, const trace::Record& record);
  void Export(const Operands& operands);
  Allocation* Exported(const Operands& operands, uint64_t handle);
  void RetainHandle(const Operands& operands);
  void Map(const Operands& operands, const trace::Record& record);
  void Unmap(const Operands& operands, const trace::Record& record, Pending* log);
  void UnmapOne(uint64_t address, const Mapping& mapping, const trace::Record& record,
                Pending* log);
  void PromoteMapping(const Allocation& memory, const trace::Record& record, Pending* log);
  void EndIfUnreferenced(Allocation* memory, const trace::Record& record, Pending* log);
  void AddMapping(uint64_t address, uint64_t size, Allocation* memory, const trace::Record& record);
  Allocation* BehindMapping(const Mapping& mapping);
  Allocation* MappedAt(uint64_t address);

  // ledger_multicast.cc: what holds memory without a handle or an address of its own.
  void Bind(const Operands& operands);
  void Unbind(const Operands& operands, const trace::Record& record, Pending* log);
  void UnbindOne(const BindingKey& key, const trace::Record& record, Pending* log);
  void UnbindAll(uint64_t multicast, const trace::Record& record, Pending* log);

  // ledger_contexts.cc
  void OpenContext(const Operands& operands, const trace::Record& record);
  void CloseContext(const Operands& operands, const trace::Record& record, Pending* log);
  void RetainContext(const Operands& operands, const trace::Record& record);
  void ReleaseContext(const Operands& operands, const trace::Record& record, Pending* log);
  void RetainPrimary(const Operands& operands, const trace::Record& record);
  void HoldPrimary(uint32_t context, const trace::Record& record);
  void ReleasePrimary(const Operands& operands, const trace::Record& record, Pending* log);
  void ResetPrimary(const Operands& operands, const trace::Record& record, Pending* log);
  void DropReference(uint32_t context, const trace::Record& record, Pending* log);
  void EndContext(uint32_t context, const trace::Record& record, Pending* log);
  void LinkGreenContext(const Operands& operands);
  void OpenGreenContext(const Operands& operands, const trace::Record& record);

  // ledger_streams.cc: the order of streams, graphs' launches.
  void RunStreamStep(const Step& step, const Operands& operands, const trace::Record& record);
  StreamCall StreamOf(const Operands& operands, const trace::Record& record);
  void CreateStream(const Operands& operands, uint64_t handle, const trace::Record& record);

  // ledger_samples.cc: pools, and what the driver says of itself.
  void OpenPool(const Operands& operands, uint64_t pool);
  void ForgetPool(uint64_t pool, Pending* log);
  void LearnPool(const Step& step, const Operands& operands);
  void SamplePool(const Operands& operands, const trace::Record& record);
  void SampleDevice(const Operands& operands, const trace::Record& record);
  void SampleGraph(const Operands& operands, const trace::Record& record);
  bool DeviceOfLocation(const Operands& operands, int32_t* device) const;

  // ledger_sharing.cc
  void Share(const Operands& operands);
  void JoinShare(const Operands& operands, Allocation* allocation);

  int32_t DeviceOfOrdinal(uint64_t ordinal) const;
  int32_t DeviceOfRecord(const trace::Record& record);
  uint32_t SiteOf(const trace::Record& record);
  template <typename Notify>
  void ForObservers(Notify notify) {
    for (Observer* observer : observers_) notify(observer);
  }

  const ProcessDescription process_;
  SiteTable* const sites_;
  const std::vector<Observer*> observers_;
  std::vector<EntryPlan> plans_;  // by entry id
  ObjectTable objects_;
  ContextTable contexts_;
  absl::btree_map<uint64_t, Mapping> mappings_;  // by address
  absl::btree_map<BindingKey, Binding> bindings_;
  absl::flat_hash_map<uint64_t, SharedMemory> exports_;  // by descriptor, of this process's memory
  absl::flat_hash_map<uint64_t, PoolState> pools_;
  absl::flat_hash_map<int32_t, uint64_t> current_pools_;  // by device, where it was set
  // Addresses that graphs' allocation nodes own. Their memory is the graph's, which is sampled.
  absl::flat_hash_map<uint64_t, uint64_t> graph_addresses_;
  std::vector<Pending> pending_;  // by thread id
  StreamOrder stream_order_;
  UnknownFrees unknown_frees_;
  uint64_t next_id_ = 1;
  LedgerCounters counters_;
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_LEDGER_H_
