// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ingest/job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/ingest/cursor.h"
#include "analyzer/ingest/read_ahead.h"

namespace gputrace::ingest {
namespace {

// No machine has more: a larger ordinal is damage.
constexpr int32_t kMaxDevices = 1024;

// Shorter traces are read in less time than it takes to start one.
constexpr size_t kBlocksWorthAThread = 8;

// CUDA_VISIBLE_DEVICES may also list UUIDs; then the physical number is unknown.
std::optional<int32_t> PhysicalIndex(const trace::Dictionary& dictionary, int32_t ordinal) {
  const std::string visible(dictionary.fact("env.CUDA_VISIBLE_DEVICES"));
  if (visible.empty()) return ordinal;
  const std::vector<std::string> parts = absl::StrSplit(visible, ',');
  int32_t physical = 0;
  if (static_cast<size_t>(ordinal) >= parts.size() ||
      !absl::SimpleAtoi(parts[static_cast<size_t>(ordinal)], &physical)) {
    return std::nullopt;
  }
  return physical;
}

int32_t HighestOrdinal(const trace::Dictionary& dictionary) {
  int32_t highest = -1;
  for (const trace::Device& device : dictionary.devices())
    highest = std::max(highest, device.ordinal);
  for (const trace::Context& context : dictionary.contexts()) {
    highest = std::max(highest, context.device);
  }
  return std::min(highest, kMaxDevices - 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> Job::Open(const std::vector<std::string>& paths) {
  auto job = std::make_unique<Job>();
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const std::string& path : paths) {
    absl::StatusOr<std::unique_ptr<trace::Reader>> reader = trace::Reader::Open(path);
    if (!reader.ok()) {
      std::string message(reader.status().message());
      if (!absl::StrContains(message, path)) message = absl::StrCat(path, ": ", message);
      return absl::Status(reader.status().code(), message);
    }
    Process process;
    process.path = path;
    process.reader = *std::move(reader);
    earliest = std::min(earliest, static_cast<int64_t>(process.reader->header().start_realtime_ns));
    job->processes_.push_back(std::move(process));
  }
  job->wall_start_ns_ = paths.empty() ? 0 : earliest;
  for (Process& process : job->processes_) {
    process.offset_ns =
        static_cast<int64_t>(process.reader->header().start_realtime_ns) - job->wall_start_ns_;
    job->AddDevices(&process);
  }
  return job;
}

void Job::AddDevices(Process* process) {
  const trace::Dictionary& dictionary = process->reader->dictionary();
  process->devices.resize(static_cast<size_t>(int64_t{HighestOrdinal(dictionary)} + 1));
  for (size_t i = 0; i < process->devices.size(); ++i) {
    trace::Device device;
    device.ordinal = static_cast<int32_t>(i);
    for (const trace::Device& known : dictionary.devices()) {
      if (known.ordinal == device.ordinal) device = known;
    }
    process->devices[i] = FindOrAddDevice(device, *process);
  }
}

int32_t Job::FindOrAddDevice(const trace::Device& device, const Process& process) {
  const std::string host = process.host();
  for (const Device& known : devices_) {
    const bool same =
        device.uuid.empty() || known.uuid.empty()
            ? known.uuid == device.uuid && known.host == host && known.ordinal == device.ordinal
            : known.uuid == device.uuid;
    if (same) return known.index;
  }
  Device added;
  added.index = static_cast<int32_t>(devices_.size());
  added.name = device.name;
  added.uuid = device.uuid;
  added.total_bytes = device.total_bytes;
  added.host = host;
  added.ordinal = device.ordinal;
  added.physical = PhysicalIndex(process.reader->dictionary(), device.ordinal);
  devices_.push_back(added);
  return added.index;
}

bool Job::complete() const {
  for (const Process& process : processes_) {
    if (!process.reader->health().complete || !process.damage.empty()) return false;
  }
  return true;
}

ledger::ProcessDescription Job::Describe(uint32_t index) const {
  const Process& process = processes_[index];
  const trace::Dictionary& dictionary = process.reader->dictionary();
  ledger::ProcessDescription description;
  description.process = index;
  description.entries = dictionary.entries();
  description.devices = process.devices;
  for (const trace::Context& context : dictionary.contexts()) {
    const bool known =
        context.device >= 0 && static_cast<size_t>(context.device) < process.devices.size();
    description.contexts.push_back(
        {context.handle,
         known ? process.devices[static_cast<size_t>(context.device)] : ledger::kHost});
  }
  description.native_stacks = dictionary.stack_count();
  description.python_stacks = dictionary.python_stack_count();
  description.threads = static_cast<uint32_t>(dictionary.threads().size());
  return description;
}

absl::Status Job::ForEach(absl::FunctionRef<void(const TimedRecord&)> visit,
                          absl::FunctionRef<void(uint32_t, int64_t)> on_end) {
  if (processes_.size() != 1) return ForEachMerged(visit, on_end);
  const auto visit_record = [&](const trace::Record& record) { visit(TimedRecord{0, record}); };
  trace::Reader* reader = processes_[0].reader.get();
  return reader->blocks().size() < kBlocksWorthAThread ? reader->ForEach(visit_record)
                                                       : ReadAhead(reader, visit_record);
}

absl::Status Job::ForEachMerged(absl::FunctionRef<void(const TimedRecord&)> visit,
                                absl::FunctionRef<void(uint32_t, int64_t)> on_end) {
  std::vector<std::unique_ptr<Cursor>> cursors;
  std::vector<std::pair<int64_t, uint32_t>> heap;  // the earliest on top
  const auto later = [](const auto& a, const auto& b) { return a > b; };
  for (uint32_t i = 0; i < processes_.size(); ++i) {
    Process& process = processes_[i];
    process.damage.clear();
    cursors.push_back(
        std::make_unique<Cursor>(process.reader.get(), process.offset_ns, &process.damage));
    if (cursors[i]->Next()) heap.emplace_back(cursors[i]->record().time_ns, i);
  }
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const uint32_t process = heap.back().second;
    heap.pop_back();
    Cursor& cursor = *cursors[process];
    // Mostly the same process goes on; then the heap need not be touched.
    bool more = true;
    int64_t last_ns = 0;
    do {
      last_ns = cursor.record().time_ns;
      visit(TimedRecord{process, cursor.record()});
      more = cursor.Next();
    } while (more && (heap.empty() || cursor.record().time_ns <= heap.front().first));
    if (!more) {
      if (!heap.empty()) on_end(process, last_ns);
      continue;
    }
    heap.emplace_back(cursor.record().time_ns, process);
    std::push_heap(heap.begin(), heap.end(), later);
  }
  return absl::OkStatus();
}

absl::StatusOr<int32_t> FindDevice(const Job& job, const std::string& text) {
  int32_t number = 0;
  if (absl::SimpleAtoi(text, &number)) {
    if (number >= 0 && static_cast<size_t>(number) < job.devices().size()) return number;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no device ", text, ": the trace has ", job.devices().size()));
  }
  const size_t colon = text.rfind(':');
  const bool has_host =
      colon != std::string::npos && absl::SimpleAtoi(text.substr(colon + 1), &number);
  int32_t found = -1;
  for (const Device& device : job.devices()) {
    const bool fits = has_host ? device.host == text.substr(0, colon) &&
                                     device.physical.value_or(device.ordinal) == number
                               : !text.empty() && absl::StartsWith(device.uuid, text);
    if (!fits) continue;
    if (found >= 0)
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' fits several devices"));
    found = device.index;
  }
  if (found < 0)
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no device of the trace"));
  return found;
}

}  // namespace gputrace::ingest
