// SPDX-License-Identifier: Apache-2.0
#include "trace/live_reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "trace/crc32.h"
#include "trace/file_io.h"
#include "trace/hex.h"

namespace gputrace::trace {
namespace {

constexpr uint32_t kMaxRingBytes = 64u << 20;

absl::Status CheckHeader(const LiveHeader& header, const uint8_t trace_id[16],
                         const std::string& path) {
  if (memcmp(header.magic, kLiveMagic, kMagicBytes) != 0 || header.version != kLiveVersion) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: not a rings' file", path));
  }
  const uint32_t crc =
      Crc32(header.trace_id, offsetof(LiveHeader, rings) - offsetof(LiveHeader, trace_id));
  if (crc != header.header_crc32 || header.ring_bytes < kLivePageBytes ||
      header.ring_bytes > kMaxRingBytes || (header.ring_bytes & (header.ring_bytes - 1)) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: its header is damaged", path));
  }
  if (memcmp(header.trace_id, trace_id, 16) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: belongs to another trace", path));
  }
  return absl::OkStatus();
}

uint64_t Load(const std::atomic<uint64_t>& value) { return value.load(std::memory_order_relaxed); }

// Copies [tail, head), which may wrap, into ring->data.
bool CopyData(const InputFile& file, uint64_t data_offset, uint32_t ring_bytes, uint64_t head,
              LiveRing* ring) {
  const uint64_t bytes = head - ring->tail;
  if (head < ring->tail || bytes > ring_bytes || bytes % 8 != 0) return false;
  ring->data.resize(bytes / 8);
  auto* out = reinterpret_cast<char*>(ring->data.data());
  const uint64_t start = ring->tail % ring_bytes;
  const uint64_t first = std::min<uint64_t>(bytes, ring_bytes - start);
  return file.ReadExactly(data_offset + start, out, first) &&
         file.ReadExactly(data_offset, out + first, bytes - first);
}

using Ids = absl::flat_hash_map<uint64_t, uint32_t>;  // hash -> dictionary id

uint32_t Find(const Ids& ids, uint64_t hash) {
  const auto found = ids.find(hash);
  return found == ids.end() ? 0 : found->second;
}

// What the trace and the rings have defined so far.
struct KnownDefinitions {
  explicit KnownDefinitions(const Dictionary& dictionary) {
    for (uint32_t id = 1; id <= dictionary.stack_count(); ++id) {
      stacks[dictionary.stack(id).hash] = id;
    }
    for (uint32_t id = 1; id <= dictionary.python_stack_count(); ++id) {
      python_stacks[dictionary.python_stack(id).hash] = id;
    }
    for (uint32_t id = 1; id <= dictionary.code_object_count(); ++id) {
      code_objects[dictionary.code_object(id).hash] = id;
    }
  }

  Ids stacks;
  Ids python_stacks;
  Ids code_objects;
  Ids strings;  // the trace does not keep strings' hashes: they are defined again, which is
                // harmless
};

// Takes RingTexts apart. Texts that do not fit their words come out empty.
class TextReader {
 public:
  TextReader(std::span<const uint64_t> words, size_t texts) : words_(words) {
    if (words.size() < texts) return;
    const std::span<const uint64_t> bytes = words.subspan(texts);
    rest_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size() * 8};
  }
  std::string_view Next() {
    if (position_ >= words_.size()) return {};
    const uint64_t size = words_[position_++];
    if (size > rest_.size()) return {};
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }

 private:
  std::span<const uint64_t> words_;
  std::string_view rest_;
  size_t position_ = 0;
};

// Decodes the records of one ring.
class RingDecoder {
 public:
  RingDecoder(const FileHeader& header, DictionaryBuilder* builder, KnownDefinitions* known,
              LiveRecords* out)
      : header_(header), builder_(*builder), known_(*known), out_(*out) {}

  // False if the content stopped making sense.
  bool Decode(const LiveRing& ring, uint64_t from, bool process_is_gone) {
    builder_.AddThread({ring.thread, ring.tid, ring.name});
    if (process_is_gone && ring.in_call != 0) ++out_.uncertain;
    uint64_t at = (from - ring.tail) / 8;
    while (at < ring.data.size()) {
      if (ring.data.size() - at < kRingRecordWords) return false;
      RingRecord record;
      memcpy(&record, &ring.data[at], sizeof(record));
      if (record.words < kRingRecordWords || record.words > ring.data.size() - at) return false;
      const std::span<const uint64_t> words(&ring.data[at] + kRingRecordWords,
                                            record.words - kRingRecordWords);
      if (record.kind >= kFirstRingOnlyKind) {
        Define(record, words);
      } else {
        const bool in_flight = process_is_gone && ring.in_call == ring.tail + at * 8 + 1;
        if (!Append(record, words, ring.thread, in_flight)) return false;
      }
      at += record.words;
    }
    return true;
  }

 private:
  void Define(const RingRecord& record, std::span<const uint64_t> words) {
    switch (static_cast<RingOnlyKind>(record.kind)) {
      case RingOnlyKind::kStack:
        if (words.size() <= kMaxStackDepth && !known_.stacks.contains(record.native_hash)) {
          known_.stacks[record.native_hash] = builder_.AddStack(
              record.native_hash, record.epoch, (record.flags & kFlagTruncatedStack) != 0, words);
        }
        break;
      case RingOnlyKind::kPythonStack:
        DefinePythonStack(record, words);
        break;
      case RingOnlyKind::kString:
        known_.strings[record.native_hash] = builder_.AddString(TextReader(words, 1).Next());
        break;
      case RingOnlyKind::kCodeObject:
        DefineCodeObject(record, words);
        break;
      case RingOnlyKind::kContext:
        if (words.size() >= 3) {
          builder_.AddContext(
              {static_cast<uint32_t>(words[0]), words[1], static_cast<int32_t>(words[2]) - 1});
        }
        break;
      case RingOnlyKind::kModule:
        DefineModule(record, words);
        break;
      case RingOnlyKind::kDevice:
        DefineDevice(words);
        break;
      case RingOnlyKind::kFact: {
        TextReader texts(words, 2);
        const std::string_view key = texts.Next();
        builder_.AddFact(key, texts.Next());
        break;
      }
    }
  }

  void DefinePythonStack(const RingRecord& record, std::span<const uint64_t> words) {
    if (known_.python_stacks.contains(record.python_hash)) return;
    PythonStack stack;
    stack.hash = record.python_hash;
    stack.truncated = (record.flags & kFlagTruncatedStack) != 0;
    for (size_t i = 0; i + 1 < words.size(); i += 2) {
      stack.frames.push_back(
          {Find(known_.code_objects, words[i]), static_cast<int32_t>(words[i + 1]) - 1});
    }
    known_.python_stacks[record.python_hash] = builder_.AddPythonStack(std::move(stack));
  }

  void DefineCodeObject(const RingRecord& record, std::span<const uint64_t> words) {
    if (words.size() < 2 || known_.code_objects.contains(record.native_hash)) return;
    CodeObject code;
    code.hash = record.native_hash;
    code.first_line = static_cast<uint32_t>(words[0]);
    code.python_version = static_cast<uint16_t>(words[1]);
    TextReader texts(words.subspan(2), 3);
    code.qualified_name = texts.Next();
    code.file = texts.Next();
    code.line_table = texts.Next();
    known_.code_objects[record.native_hash] = builder_.AddCodeObject(std::move(code));
  }

  void DefineModule(const RingRecord& record, std::span<const uint64_t> words) {
    if (words.size() < 3) return;
    Module module;
    module.start = words[0];
    module.end = words[1];
    module.bias = words[2];
    module.load_epoch = record.epoch;
    TextReader texts(words.subspan(3), 2);
    module.path = texts.Next();
    module.build_id = ToHex(texts.Next());
    builder_.AddModule(std::move(module));
  }

  void DefineDevice(std::span<const uint64_t> words) {
    if (words.size() < 4) return;
    const std::string_view uuid(reinterpret_cast<const char*>(&words[2]), 16);
    builder_.AddDevice(static_cast<int32_t>(words[0]), TextReader(words.subspan(4), 1).Next(), uuid,
                       words[1]);
  }

  bool Append(const RingRecord& in, std::span<const uint64_t> words, uint32_t thread,
              bool in_flight) {
    if (in.kind == 0 || in.kind > kLastRecordKind) return true;
    if (words.size() > kMaxOperands) return false;
    LiveRecord live;
    live.ticks = in.ticks;
    live.first_operand = out_.operands.size();
    PackedRecord& record = live.record;
    record.kind = static_cast<RecordKind>(in.kind);
    record.flags = static_cast<uint8_t>(in.flags | (in_flight ? kFlagUncertain : 0));
    record.entry = in.entry;
    record.result = in.result;
    record.thread = thread;
    record.context = in.context;
    record.native_stack = Find(known_.stacks, in.native_hash);
    record.python_stack = Find(known_.python_stacks, in.python_hash);
    const uint64_t ticks = in.ticks > header_.start_ticks ? in.ticks - header_.start_ticks : 0;
    record.time = ticks >> header_.time_shift;
    record.duration = DurationCode(in.duration_ticks >> header_.time_shift);
    record.count = static_cast<uint32_t>(words.size());
    out_.operands.insert(out_.operands.end(), words.begin(), words.end());
    const uint32_t strings = StringOperands(record.kind);
    for (uint32_t i = 0; i < record.count; ++i) {
      uint64_t& operand = out_.operands[live.first_operand + i];
      if ((strings >> i & 1) != 0) operand = Find(known_.strings, operand);
    }
    out_.records.push_back(live);
    return true;
  }

  const FileHeader& header_;
  DictionaryBuilder& builder_;
  KnownDefinitions& known_;
  LiveRecords& out_;
};

}  // namespace

absl::StatusOr<LiveContents> ReadLive(const std::string& path, const uint8_t trace_id[16]) {
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  LiveHeader header{};
  if (!file->ReadExactly(0, &header, sizeof(header))) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: not a rings' file", path));
  }
  if (absl::Status status = CheckHeader(header, trace_id, path); !status.ok()) return status;
  LiveContents live;
  live.pid = header.pid;
  live.process_start_time = header.process_start_time;
  live.ended = header.ended.load() != 0;
  live.lost_without_ring =
      header.lost_without_ring.load() - header.lost_without_ring_reported.load();
  const uint32_t rings = std::min(header.rings.load(), kMaxRings);
  for (uint32_t i = 0; i < rings; ++i) {
    const uint64_t offset = kLivePageBytes + uint64_t{i} * (kLivePageBytes + header.ring_bytes);
    RingHeader before{};
    RingHeader after{};
    if (!file->ReadExactly(offset, &before, sizeof(before))) break;
    if (before.state.load() == static_cast<uint32_t>(RingState::kUnused)) continue;
    LiveRing ring;
    ring.ring_id = before.ring_id;
    ring.tid = before.tid;
    ring.thread = before.thread;
    ring.name.assign(before.name, strnlen(before.name, sizeof(before.name)));
    ring.tail = Load(before.tail);
    ring.in_call = Load(before.in_call);
    ring.lost = Load(before.lost) - Load(before.lost_reported);
    const bool copied =
        CopyData(*file, offset + kLivePageBytes, header.ring_bytes, Load(before.head), &ring);
    if (!copied || !file->ReadExactly(offset, &after, sizeof(after)) ||
        after.ring_id != ring.ring_id) {
      continue;
    }
    live.rings.push_back(std::move(ring));
  }
  return live;
}

LiveRecords FoldLive(const LiveContents& live, const FileHeader& header, bool process_is_gone,
                     const absl::flat_hash_map<uint32_t, uint64_t>& written,
                     const Dictionary& dictionary, DictionaryBuilder* builder) {
  LiveRecords out;
  KnownDefinitions known(dictionary);
  RingDecoder decoder(header, builder, &known, &out);
  for (const LiveRing& ring : live.rings) {
    const auto found = written.find(ring.ring_id);
    const uint64_t from = found == written.end() ? ring.tail : std::max(ring.tail, found->second);
    if (from > ring.tail + ring.data.size() * 8) continue;
    if (!decoder.Decode(ring, from, process_is_gone)) ++out.damaged;
  }
  std::stable_sort(out.records.begin(), out.records.end(),
                   [](const LiveRecord& a, const LiveRecord& b) { return a.ticks < b.ticks; });
  return out;
}

}  // namespace gputrace::trace
