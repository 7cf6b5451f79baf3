// SPDX-License-Identifier: Apache-2.0
// A driver without a GPU or a memory: each entry notes its arguments, writes what it was told to
// into its out-parameters, sets errno and answers. Its client knows byte for byte what must come
// out of a call, with and without a tracer in between.
#ifndef GPUTRACE_TESTS_INTEGRATION_TRANSPARENCY_ECHO_H_
#define GPUTRACE_TESTS_INTEGRATION_TRANSPARENCY_ECHO_H_

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simulator/driver/cuda_api.h"

#define ECHO_EXPORT __attribute__((visibility("default")))

namespace gputrace {

// Memory of the client's that its pointers point into; the driver touches nothing else.
inline constexpr size_t kSlots = 32;
inline constexpr size_t kSlotBytes = 8192;

struct EchoState {
  // Set by the client.
  CUresult result;
  int error;  // errno that the call leaves
  uint64_t seed;
  unsigned char* arena;
  // Set by the call.
  int entry;
  int calls;
  size_t bytes;
  unsigned char arguments[512];
};

inline uint64_t NextRandom(uint64_t* state) {  // splitmix64
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

template <typename T, typename = void>
inline constexpr bool kIsComplete = false;
template <typename T>
inline constexpr bool kIsComplete<T, std::void_t<decltype(sizeof(T))>> = !std::is_function_v<T>;

// A pointer to something, not one of CUDA's handles, whose targets nobody but the driver knows.
template <typename T>
inline constexpr bool kPointsToData =
    std::is_pointer_v<T> &&
    (kIsComplete<std::remove_pointer_t<T>> || std::is_void_v<std::remove_pointer_t<T>>);

extern "C" ECHO_EXPORT EchoState* echo_state();

template <typename T>
void FillOut(EchoState* state, T argument) {
  if constexpr (kPointsToData<T>) {
    using Target = std::remove_pointer_t<T>;
    if constexpr (!std::is_void_v<Target> && !std::is_const_v<Target>) {
      const auto* at = reinterpret_cast<const unsigned char*>(argument);
      if (at < state->arena || at >= state->arena + kSlots * kSlotBytes) return;
      uint64_t random = state->seed;
      auto* bytes = reinterpret_cast<unsigned char*>(argument);
      for (size_t i = 0; i < sizeof(Target); ++i) {
        bytes[i] = static_cast<unsigned char>(NextRandom(&random));
      }
    }
  }
}

template <typename T>
void NoteArgument(EchoState* state, T argument) {
  memcpy(state->arguments + state->bytes, &argument, sizeof(argument));
  state->bytes += sizeof(argument);
}

template <typename... Arguments>
CUresult Echo(int entry, Arguments... arguments) {
  EchoState* state = echo_state();
  state->entry = entry;
  ++state->calls;
  state->bytes = 0;
  (NoteArgument(state, arguments), ...);
  if (state->result == CUDA_SUCCESS) (FillOut(state, arguments), ...);
  errno = state->error;
  return state->result;
}

}  // namespace gputrace

#endif  // GPUTRACE_TESTS_INTEGRATION_TRANSPARENCY_ECHO_H_
