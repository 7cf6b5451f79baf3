// SPDX-License-Identifier: Apache-2.0
// Calls each entry of the echoing driver many times with random arguments: NULLs, garbage for
// handles and addresses, memory for what is pointed to. Prints a line per call with all that came
// out of it. By its exported name and by dlsym.
//
// usage: transparency_client ROUNDS SEED
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <tuple>

#include "tests/integration/transparency/echo.h"

namespace gputrace {

extern "C" {
#include "declarations.inc"
}

namespace {

EchoState* g_echo;
uint64_t g_random;

uint64_t Random() { return NextRandom(&g_random); }

uint64_t Hash(const void* data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  }
  return hash;
}

// The arena's content: nothing, or anything.
void FillArena(unsigned slots) {
  const bool is_random = Random() % 2 == 0;
  for (size_t i = 0; i < slots * kSlotBytes; i += 8) {
    const uint64_t word = is_random ? Random() : 0;
    memcpy(g_echo->arena + i, &word, 8);
  }
}

// Makes a call's arguments in their order.
class ArgumentMaker {
 public:
  explicit ArgumentMaker(unsigned small) : small_(small) {}

  template <typename T>
  T Next() {
    T value;
    memset(&value, 0, sizeof(value));
    const unsigned position = position_++;
    const uint64_t random = Random();
    if constexpr (kPointsToData<T>) {
      if (random % 4 != 0) {
        value =
            reinterpret_cast<T>(reinterpret_cast<uintptr_t>(g_echo->arena) + position * kSlotBytes);
      }
    } else if ((small_ >> position & 1) != 0) {
      const uint64_t little = random % 4;
      memcpy(&value, &little, sizeof(value) < 8 ? sizeof(value) : 8);
    } else if (random % 4 != 0) {
      for (size_t i = 0; i < sizeof(value); ++i) {
        reinterpret_cast<unsigned char*>(&value)[i] = static_cast<unsigned char>(Random());
      }
    }
    return value;
  }

 private:
  const unsigned small_;  // bit i: argument i says how many of something there are
  unsigned position_ = 0;
};

constexpr CUresult kResults[] = {CUDA_SUCCESS, CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY,
                                 CUDA_ERROR_INVALID_VALUE, static_cast<CUresult>(987654)};

template <typename... Arguments>
void Call(const char* symbol, const char* way, CUresult (*function)(Arguments...), unsigned small) {
  FillArena(sizeof...(Arguments));
  ArgumentMaker maker(small);
  std::tuple<Arguments...> arguments{maker.Next<Arguments>()...};  // braces: in order
  g_echo->calls = 0;
  g_echo->result = kResults[Random() % 5];
  g_echo->error = static_cast<int>(Random() % 130);
  g_echo->seed = Random();
  errno = 12345;
  const CUresult result = std::apply(function, arguments);
  const int error = errno;
  unsigned char expected[sizeof(g_echo->arguments)];
  size_t bytes = 0;
  std::apply(
      [&](auto... each) {
        ((memcpy(expected + bytes, &each, sizeof(each)), bytes += sizeof(each)), ...);
      },
      arguments);
  const bool same = bytes == g_echo->bytes && memcmp(expected, g_echo->arguments, bytes) == 0;
  printf("%s %s calls %d arguments %s result %d answer %d errno %d left %d memory %016llx\n",
         symbol, way, g_echo->calls, same ? "same" : "CHANGED", g_echo->result, result,
         g_echo->error, error,
         static_cast<unsigned long long>(Hash(g_echo->arena, sizeof...(Arguments) * kSlotBytes)));
}

template <typename Function>
void CallBothWays(const char* symbol, Function* exported, unsigned small, int rounds) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* found = reinterpret_cast<Function*>(dlsym(driver, symbol));
  for (int i = 0; i < rounds; ++i) {
    Call(symbol, "export", exported, small);
    Call(symbol, "dlsym", found, small);
  }
}

int Main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 10;
  g_random = count > 2 ? strtoull(arguments[2], nullptr, 0) : 1;
  g_echo = echo_state();
  // At the same place with and without a tracer, since arguments are printed as what they are; and
  // with a page behind it that nobody may read.
  constexpr size_t kArenaBytes = kSlots * kSlotBytes;
  void* arena = mmap(reinterpret_cast<void*>(0x200000000000), kArenaBytes + 4096, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (arena == MAP_FAILED || mprotect(arena, kArenaBytes, PROT_READ | PROT_WRITE) != 0) return 3;
  g_echo->arena = static_cast<unsigned char*>(arena);
#define ENTRY(symbol, small) CallBothWays(#symbol, symbol, small, rounds);
#include "entries.inc"
#undef ENTRY
  return 0;
}

}  // namespace
}  // namespace gputrace

int main(int count, char** arguments) { return gputrace::Main(count, arguments); }
