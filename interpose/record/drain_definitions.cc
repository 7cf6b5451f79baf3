// SPDX-License-Identifier: Apache-2.0
// The part of Drain that turns definitions found in rings into dictionary records, and ends the
// file.
#include <cerrno>
#include <cstring>

#include "interpose/record/drain.h"
#include "interpose/record/sys.h"
#include "trace/varint.h"

namespace gputrace::interpose {
namespace {

// Takes a definition's words apart: fixed ones first, then texts (live.h, RingText).
class Words {
 public:
  explicit Words(const trace::RingRecord& record)
      : at_(reinterpret_cast<const uint64_t*>(&record) + trace::kRingRecordWords),
        end_(reinterpret_cast<const uint64_t*>(&record) + record.words) {}

  const uint64_t* data() const { return at_; }
  uint32_t count() const { return static_cast<uint32_t>(end_ - at_); }
  uint64_t Next() { return at_ < end_ ? *at_++ : 0; }
  // To be called once, after the fixed words.
  void Texts(trace::Bytes* texts, uint32_t text_count) {
    const uint64_t* sizes = at_;
    const auto* bytes = reinterpret_cast<const uint8_t*>(at_ + text_count);
    for (uint32_t i = 0; i < text_count; ++i) {
      texts[i] = {bytes, sizes[i]};
      bytes += sizes[i];
    }
  }

 private:
  const uint64_t* at_;
  const uint64_t* end_;
};

}  // namespace

bool Drain::Define(const trace::RingRecord& record) {
  if (limit_reached_) return true;
  Words words(record);
  bool is_new = false;
  switch (static_cast<trace::RingOnlyKind>(record.kind)) {
    case trace::RingOnlyKind::kStack:
      return DefineStack(record);
    case trace::RingOnlyKind::kPythonStack:
      return DefinePythonStack(record);
    case trace::RingOnlyKind::kCodeObject:
      return DefineCodeObject(record);
    case trace::RingOnlyKind::kModule:
      return DefineModule(record);
    case trace::RingOnlyKind::kString: {
      trace::Bytes text;
      words.Texts(&text, 1);
      const uint32_t id = strings_.FindOrAdd(record.native_hash, &is_new);
      return !is_new || dictionary_.AddString(id, text) || strings_.TakeBack(record.native_hash);
    }
    case trace::RingOnlyKind::kContext: {
      const auto id = static_cast<uint32_t>(words.Next());
      const uint64_t handle = words.Next();
      return dictionary_.AddContext(id, handle, static_cast<int32_t>(words.Next()) - 1);
    }
    case trace::RingOnlyKind::kDevice: {
      const auto ordinal = static_cast<int32_t>(words.Next());
      const uint64_t total = words.Next();
      uint8_t uuid[16];
      memcpy(uuid, words.data(), sizeof(uuid));
      words.Next();
      words.Next();
      trace::Bytes name;
      words.Texts(&name, 1);
      return dictionary_.AddDevice(ordinal, name, uuid, total);
    }
    case trace::RingOnlyKind::kFact: {
      trace::Bytes texts[2];
      words.Texts(texts, 2);
      return dictionary_.AddFact(texts[0], texts[1]);
    }
  }
  return true;
}

bool Drain::DefineStack(const trace::RingRecord& record) {
  const Words words(record);
  bool is_new = false;
  const uint32_t id = stacks_.FindOrAdd(record.native_hash, &is_new);
  if (!is_new) return true;
  const bool truncated = (record.flags & trace::kFlagTruncatedStack) != 0;
  return dictionary_.AddStack(
             {id, record.native_hash, record.epoch, truncated, words.data(), words.count()}) ||
         stacks_.TakeBack(record.native_hash);
}

bool Drain::DefinePythonStack(const trace::RingRecord& record) {
  Words words(record);
  bool is_new = false;
  const uint32_t id = python_stacks_.FindOrAdd(record.python_hash, &is_new);
  if (!is_new) return true;
  const uint32_t depth = words.count() / 2;
  for (uint32_t i = 0; i < depth; ++i) {
    frames_[2 * i] = code_objects_.Find(words.Next());
    frames_[2 * i + 1] = words.Next();
  }
  const bool truncated = (record.flags & trace::kFlagTruncatedStack) != 0;
  return dictionary_.AddPythonStack({id, record.python_hash, truncated, frames_, depth}) ||
         python_stacks_.TakeBack(record.python_hash);
}

bool Drain::DefineCodeObject(const trace::RingRecord& record) {
  Words words(record);
  bool is_new = false;
  const uint32_t id = code_objects_.FindOrAdd(record.native_hash, &is_new);
  if (!is_new) return true;
  const auto first_line = static_cast<uint32_t>(words.Next());
  const auto version = static_cast<uint16_t>(words.Next());
  trace::Bytes texts[3];
  words.Texts(texts, 3);
  return dictionary_.AddCodeObject(
             {id, record.native_hash, texts[0], texts[1], first_line, version, texts[2]}) ||
         code_objects_.TakeBack(record.native_hash);
}

bool Drain::DefineModule(const trace::RingRecord& record) {
  Words words(record);
  bool is_new = false;
  const uint32_t id = modules_.FindOrAdd(record.native_hash, &is_new);
  if (!is_new) return true;
  const uint64_t start = words.Next();
  const uint64_t end = words.Next();
  const uint64_t bias = words.Next();
  trace::Bytes texts[2];
  words.Texts(texts, 2);
  return dictionary_.AddModule({id, texts[0], texts[1], start, end, bias, record.epoch}) ||
         modules_.TakeBack(record.native_hash);
}

bool Drain::DefineThread(uint32_t ring) {
  const trace::RingHeader* header = session_->rings[ring];
  const size_t size = strnlen(header->name, sizeof(header->name));
  return dictionary_.AddThread(header->thread, header->tid, {header->name, size});
}

long Drain::Finish() {
  dictionary_.AddEnd(trace::EndReason::kExit, Units(ReadTicks(session_->clock)));
  if (const long error = FlushDictionary(); error < 0) return error;
  return WriteIndex();
}

// The index is made from the file itself, so that a long run need not keep it in memory.
long Drain::WriteIndex() {
  const uint64_t end = session_->output.size();
  uint64_t offset = sizeof(trace::FileHeader) + session_->live_path.size() + sizeof(uint32_t);
  uint8_t* const entries = payload_ + trace::kMaxVarintBytes;  // the count goes in front
  uint8_t* at = entries;
  trace::IndexEntry previous;
  uint32_t count = 0;
  while (offset < end) {
    trace::IndexEntry entry{offset, {}};
    const long n = session_->output.ReadAt(offset, &entry.header, sizeof(entry.header));
    if (n != static_cast<long>(sizeof(entry.header)) || !trace::IsGoodBlockHeader(entry.header)) {
      return 0;  // somebody has changed the file: readers will scan it
    }
    if (++count > trace::kMaxIndexEntries ||
        at + trace::kMaxIndexEntryBytes > payload_ + sizeof(payload_)) {
      return 0;
    }
    at = trace::PutIndexEntry(at, entry, previous);
    previous = entry;
    offset += sizeof(trace::BlockHeader) + entry.header.stored_bytes;
  }
  uint8_t prefix[trace::kMaxVarintBytes];
  const auto prefix_size = static_cast<size_t>(trace::PutVarint(prefix, count) - prefix);
  uint8_t* start = entries - prefix_size;
  memcpy(start, prefix, prefix_size);
  trace::BlockEncoder::Description description;
  description.kind = trace::BlockKind::kIndex;
  description.layout = trace::BlockLayout::kTlv;
  description.records = count;
  if (const long error = WriteBlock(description, start, static_cast<size_t>(at - start));
      error < 0) {
    return error;
  }
  const trace::Trailer trailer = trace::MakeTrailer(end, session_->output.size() - end);
  return session_->output.Append(&trailer, sizeof(trailer));
}

}  // namespace gputrace::interpose
