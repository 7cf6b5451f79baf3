// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/code_map.h"

#include <elf.h>
#include <link.h>

#include <cstddef>

namespace gputrace::interpose {

std::atomic<uint64_t> g_code_state;

namespace {

constexpr uint64_t kChange = 1u << 16;

// Unloads that g_code_state accounts for. Objects are seldom unloaded: 64 bits do not come around.
std::atomic<uint64_t> g_known_unloads;

void NoteUnloads(uint64_t unloads) {
  if (g_known_unloads.load(std::memory_order_relaxed) == unloads) return;
  if (g_known_unloads.exchange(unloads) != unloads) g_code_state.fetch_add(kChange);
}

// As glibc's dlfcn.h has it from 2.35 on.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* object;
  void* eh_frame_hdr;
  unsigned long long reserved[7];
};
using FindObjectFunction = int (*)(void*, FoundObject*);
std::atomic<void*> g_find_object;

bool FindByLoader(FindObjectFunction find, uint64_t address, CodeModule* module) {
  FoundObject found;
  if (find(reinterpret_cast<void*>(address), &found) != 0) return false;
  module->code_start = module->data_start = reinterpret_cast<uint64_t>(found.map_start);
  module->code_end = module->data_end = reinterpret_cast<uint64_t>(found.map_end);
  module->eh_frame_hdr = reinterpret_cast<uint64_t>(found.eh_frame_hdr);
  return true;
}

struct Question {
  uint64_t address;
  CodeModule* module;
  uint64_t unloads;
  bool found;
};

bool Holds(const dl_phdr_info& info, const ElfW(Phdr) & segment, uint64_t address) {
  return segment.p_type == PT_LOAD &&
         address - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz;
}

// Where the table of frame information is, and the segment around it.
void FindTable(const dl_phdr_info& info, CodeModule* module) {
  for (ElfW(Half) i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_GNU_EH_FRAME) module->eh_frame_hdr = info.dlpi_addr + segment.p_vaddr;
  }
  for (ElfW(Half) i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (module->eh_frame_hdr == 0 || !Holds(info, segment, module->eh_frame_hdr)) continue;
    module->data_start = info.dlpi_addr + segment.p_vaddr;
    module->data_end = module->data_start + segment.p_filesz;
    return;
  }
  module->eh_frame_hdr = 0;
}

int Answer(dl_phdr_info* info, size_t, void* argument) {
  auto* question = static_cast<Question*>(argument);
  question->unloads = info->dlpi_subs;
  if (question->module == nullptr) return 1;
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (!Holds(*info, segment, question->address) || (segment.p_flags & PF_X) == 0) continue;
    CodeModule* module = question->module;
    *module = {};
    module->code_start = info->dlpi_addr + segment.p_vaddr;
    module->code_end = module->code_start + segment.p_memsz;
    FindTable(*info, module);
    question->found = true;
    return 1;
  }
  return 0;
}

}  // namespace

void BeginUnloading() { g_code_state.fetch_add(1); }

void EndUnloading() {
  CheckForUnloading();
  g_code_state.fetch_sub(1);
}

bool FindCodeModule(uint64_t address, CodeModule* module) {
  if (void* find = g_find_object.load(std::memory_order_relaxed)) {
    return FindByLoader(reinterpret_cast<FindObjectFunction>(find), address, module);
  }
  Question question{address, module, 0, false};
  dl_iterate_phdr(Answer, &question);
  NoteUnloads(question.unloads);
  return question.found;
}

void UseFindObject(void* function) { g_find_object.store(function, std::memory_order_relaxed); }

void CheckForUnloading() {
  Question question{0, nullptr, 0, false};
  dl_iterate_phdr(Answer, &question);
  NoteUnloads(question.unloads);
}

}  // namespace gputrace::interpose
