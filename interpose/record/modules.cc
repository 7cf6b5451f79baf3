// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/modules.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstring>

#include "interpose/record/ring.h"
#include "interpose/record/session.h"

namespace gputrace::interpose {
namespace {

uint32_t EpochOf(const dl_phdr_info& info) {
  return static_cast<uint32_t>(info.dlpi_adds + info.dlpi_subs);
}

int ReadEpoch(dl_phdr_info* info, size_t, void* epoch) {
  *static_cast<uint32_t*>(epoch) = EpochOf(*info);
  return 1;  // the counters are the same in all
}

// The GNU build-id note of a loaded object; empty if it has none.
trace::Bytes BuildIdOf(const dl_phdr_info& info) {
  for (ElfW(Half) i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const uint8_t*>(info.dlpi_addr + segment.p_vaddr);
    const uint8_t* const end = at + segment.p_memsz;
    const size_t alignment = segment.p_align == 8 ? 8 : 4;
    const auto pad = [alignment](size_t n) { return (n + alignment - 1) / alignment * alignment; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof(note));
      const uint8_t* name = at + sizeof(note);
      const uint8_t* description = name + pad(note.n_namesz);
      if (description + note.n_descsz > end) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        return {description, note.n_descsz};
      }
      at = description + pad(note.n_descsz);
    }
  }
  return {};
}

struct Walk {
  ThreadState* state;
  const char* executable;
};

int DefineModule(dl_phdr_info* info, size_t, void* argument) {
  const auto* walk = static_cast<const Walk*>(argument);
  uint64_t start = UINT64_MAX;
  uint64_t end = 0;
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t first = info->dlpi_addr + segment.p_vaddr;
    if (first < start) start = first;
    if (first + segment.p_memsz > end) end = first + segment.p_memsz;
  }
  if (end == 0) return 0;
  const bool is_main = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
  const char* path = is_main ? walk->executable : info->dlpi_name;
  const trace::Bytes texts[2] = {BytesOf(path), BuildIdOf(*info)};
  uint64_t hash = start * 0x9e3779b97f4a7c15u ^ end;
  for (const trace::Bytes& text : texts) {
    for (size_t i = 0; i < text.size; ++i) {
      hash = (hash ^ static_cast<const uint8_t*>(text.data)[i]) * 0x100000001b3u;
    }
  }
  if (hash == 0) hash = 1;
  if (!walk->state->seen.Insert(hash)) return 0;
  const uint64_t words[3] = {start, end, info->dlpi_addr};
  Definition definition{};
  definition.kind = trace::RingOnlyKind::kModule;
  definition.epoch = EpochOf(*info);
  definition.hash = hash;
  definition.words = words;
  definition.word_count = 3;
  definition.texts = texts;
  definition.text_count = 2;
  PublishDefinition(walk->state, definition);
  return 0;
}

}  // namespace

uint32_t DefineModules(ThreadState* state) {
  uint32_t epoch = 0;
  dl_iterate_phdr(ReadEpoch, &epoch);
  Session* session = state->session;
  if (state->module_changes == epoch ||
      session->modules_defined.load(std::memory_order_acquire) >= epoch) {
    state->module_changes = epoch;
    return epoch;
  }
  Walk walk{state, session->executable.c_str()};
  dl_iterate_phdr(DefineModule, &walk);
  state->module_changes = epoch;
  uint32_t defined = session->modules_defined.load(std::memory_order_relaxed);
  while (defined < epoch && !session->modules_defined.compare_exchange_weak(
                                defined, epoch, std::memory_order_acq_rel)) {
  }
  return epoch;
}

}  // namespace gputrace::interpose
