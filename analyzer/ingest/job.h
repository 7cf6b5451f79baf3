// SPDX-License-Identifier: Apache-2.0
// The processes of one job: their traces as one stream of records on one clock.
#ifndef GPUTRACE_ANALYZER_INGEST_JOB_H_
#define GPUTRACE_ANALYZER_INGEST_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/ledger/ledger.h"
#include "trace/reader.h"

namespace gputrace::ingest {

// A device of the job. The same card seen by several processes is one device.
struct Device {
  int32_t index = 0;  // position in Job::devices()
  std::string name;
  std::string uuid;  // empty if unknown: then host and ordinal tell devices apart
  uint64_t total_bytes = 0;
  std::string host;
  int32_t ordinal = 0;  // in the first process that saw it
  std::optional<int32_t>
      physical;  // the card's number on its host, where CUDA_VISIBLE_DEVICES tells it
};

struct Process {
  std::string path;
  std::unique_ptr<trace::Reader> reader;
  int64_t offset_ns = 0;            // of the trace's time 0 on the job's clock
  std::vector<int32_t> devices;     // ordinal in the process -> Job::devices()
  std::vector<std::string> damage;  // blocks that would not decode when several traces were merged

  std::string host() const { return std::string(reader->dictionary().fact("host")); }
};

struct TimedRecord {
  uint32_t process;
  const trace::Record& record;  // its time is on the job's clock
};

class Job {
 public:
  // Fails if a trace cannot be opened (see trace::Reader::Open); the message names it.
  static absl::StatusOr<std::unique_ptr<Job>> Open(const std::vector<std::string>& paths);

  const std::vector<Process>& processes() const { return processes_; }
  const std::vector<Device>& devices() const { return devices_; }
  int64_t wall_start_ns() const { return wall_start_ns_; }  // CLOCK_REALTIME of the job's time 0
  // Nothing lost and nothing damaged in any trace, as far as has been read.
  bool complete() const;

  // What a ledger must know of a process.
  ledger::ProcessDescription Describe(uint32_t process) const;

  // Visits all records, those of a process in their order, of several processes by the wall clock.
  // `on_end` is called for each process that ends while others go on, in that order too. Memory: a
  // block per trace.
  absl::Status ForEach(absl::FunctionRef<void(const TimedRecord&)> visit,
                       absl::FunctionRef<void(uint32_t process, int64_t time_ns)> on_end);
  absl::Status ForEach(absl::FunctionRef<void(const TimedRecord&)> visit) {
    return ForEach(visit, [](uint32_t, int64_t) {});
  }

 private:
  void AddDevices(Process* process);
  int32_t FindOrAddDevice(const trace::Device& device, const Process& process);
  absl::Status ForEachMerged(absl::FunctionRef<void(const TimedRecord&)> visit,
                             absl::FunctionRef<void(uint32_t, int64_t)> on_end);

  std::vector<Process> processes_;
  std::vector<Device> devices_;
  int64_t wall_start_ns_ = 0;
};

// `N` (index in the job), a UUID (or the start of one that fits only one device), or `host:N` (the
// number of the card on its host). kInvalidArgument says why it names no device.
absl::StatusOr<int32_t> FindDevice(const Job& job, const std::string& text);

}  // namespace gputrace::ingest

#endif  // GPUTRACE_ANALYZER_INGEST_JOB_H_
