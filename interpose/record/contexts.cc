// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/contexts.h"

#include <cstring>

#include "interpose/record/ring.h"
#include "interpose/record/session.h"
#include "interpose/resolve/driver.h"

namespace gputrace::interpose {
namespace {

void DefineFact(ThreadState* state, const char* key, const char* value) {
  const trace::Bytes texts[2] = {BytesOf(key), BytesOf(value)};
  Definition definition{};
  definition.kind = trace::RingOnlyKind::kFact;
  definition.texts = texts;
  definition.text_count = 2;
  PublishDefinition(state, definition);
}

void DefineDevice(ThreadState* state, int ordinal) {
  const Driver& d = driver();
  CUdevice device = 0;
  if (d.device_get == nullptr || d.device_get(&device, ordinal) != CUDA_SUCCESS) return;
  char name[256] = {};
  size_t total = 0;
  CUuuid uuid{};
  if (d.device_get_name != nullptr) d.device_get_name(name, sizeof(name) - 1, device);
  if (d.device_total_mem != nullptr) d.device_total_mem(&total, device);
  if (d.device_get_uuid != nullptr) d.device_get_uuid(&uuid, device);
  uint64_t words[4] = {static_cast<uint64_t>(ordinal), total};
  memcpy(&words[2], uuid.bytes, sizeof(uuid.bytes));
  const trace::Bytes text = BytesOf(name);
  Definition definition{};
  definition.kind = trace::RingOnlyKind::kDevice;
  definition.words = words;
  definition.word_count = 4;
  definition.texts = &text;
  definition.text_count = 1;
  PublishDefinition(state, definition);
}

// Under the session's ring lock. Does nothing before the program has initialised the driver.
void DefineDriver(ThreadState* state) {
  const Driver& d = driver();
  int count = 0;
  if (state->session->devices_defined.load(std::memory_order_relaxed) ||
      d.device_get_count == nullptr || d.device_get_count(&count) != CUDA_SUCCESS) {
    return;
  }
  state->session->devices_defined.store(true, std::memory_order_relaxed);
  int version = 0;
  if (d.driver_get_version != nullptr && d.driver_get_version(&version) == CUDA_SUCCESS) {
    TextBuffer<31> text;
    text.AddNumber(static_cast<uint64_t>(version));
    DefineFact(state, "driver.version", text.c_str());
  }
  if (d.path != nullptr) DefineFact(state, "driver.path", d.path);
  for (int ordinal = 0; ordinal < count; ++ordinal) DefineDevice(state, ordinal);
}

// Some calls name a device and need no context: cuMemCreate.
void DefineDriverOnce(ThreadState* state) {
  if (state->session->devices_defined.load(std::memory_order_relaxed)) return;
  const ForkSafeLock lock(&state->session->page->ring_lock);
  DefineDriver(state);
}

// The id of a context that this thread has not had before. The definition is published before other
// threads can use the id.
uint32_t FindOrDefine(ThreadState* state, uint64_t handle) {
  Session* session = state->session;
  const ForkSafeLock lock(&session->page->ring_lock);
  for (uint32_t i = 0; i < session->context_count; ++i) {
    if (session->contexts[i] == handle) return i + 1;
  }
  if (session->context_count == Session::kMaxContexts) return 0;
  DefineDriver(state);
  CUdevice device = 0;
  const bool known = CurrentDevice(&device);
  const uint32_t id = session->context_count + 1;
  const uint64_t words[3] = {id, handle, known ? static_cast<uint64_t>(device) + 1 : 0};
  Definition definition{};
  definition.kind = trace::RingOnlyKind::kContext;
  definition.words = words;
  definition.word_count = 3;
  PublishDefinition(state, definition);
  session->contexts[session->context_count++] = handle;
  return id;
}

}  // namespace

uint32_t CurrentContext(ThreadState* state) {
  if (state->context_known) return state->context;
  CUcontext handle = nullptr;
  if (driver().ctx_get_current == nullptr || driver().ctx_get_current(&handle) != CUDA_SUCCESS ||
      handle == nullptr) {
    DefineDriverOnce(state);
    // Asked again next time: another library may make a context current without our seeing it.
    return 0;
  }
  const auto word = reinterpret_cast<uint64_t>(handle);
  if (word != state->context_handle) {
    state->context = FindOrDefine(state, word);
    state->context_handle = word;
  }
  state->context_known = true;
  return state->context;
}

}  // namespace gputrace::interpose
