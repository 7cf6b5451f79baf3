// SPDX-License-Identifier: Apache-2.0
// Functions whose frames differ in every way that compilers make them; built into libraries by
// several compilers with several options. Each calls the next one of a path.
#include "tests/unit/interpose/stacks/stack_subject.h"

#include <alloca.h>

#include <cstdarg>
#include <cstdint>

namespace {

using gputrace::interpose::SubjectPath;

void Next(SubjectPath* path);

// Keeps memory alive past the call, so that it is no tail call.
inline void Use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

template <int kBytes>
[[gnu::noinline]] void PlainFrame(SubjectPath* path) {
  volatile char room[kBytes];
  room[0] = 1;
  Next(path);
  Use(const_cast<char*>(room));
}

template <int kAlignment>
[[gnu::noinline]] void AlignedFrame(SubjectPath* path) {
  alignas(kAlignment) volatile char room[kAlignment];
  room[0] = 1;
  Next(path);
  Use(const_cast<char*>(room));
}

[[gnu::noinline]] void GrowingFrame(SubjectPath* path) {
  void* room = alloca(static_cast<size_t>(16 + path->at % 7 * 40));
  Use(room);
  Next(path);
  Use(room);
}

[[gnu::noinline]] void GrowingAlignedFrame(SubjectPath* path) {
  alignas(64) volatile char fixed[64];
  void* room = alloca(static_cast<size_t>(16 + path->at % 5 * 72));
  Use(room);
  Next(path);
  Use(const_cast<char*>(fixed));
  Use(room);
}

[[gnu::noinline]] void ManyArguments(SubjectPath* path, int count, ...) {
  va_list arguments;
  va_start(arguments, count);
  const int sum = va_arg(arguments, int) + va_arg(arguments, int);
  va_end(arguments);
  Next(path);
  Use(&sum);
}

[[gnu::noinline]] void ArgumentsOnTheStack(SubjectPath* path) {
  ManyArguments(path, 9, path->at, 2, 3, 4, 5, 6, 7, 8, 9);
  Use(path);
}

// More values across the call than there are registers that survive one.
[[gnu::noinline]] void ManyRegisters(SubjectPath* path) {
  volatile int64_t source = path->at;
  const int64_t a = source, b = source, c = source, d = source, e = source, f = source, g = source;
  Next(path);
  const int64_t sum = a ^ (b * 3) ^ (c * 5) ^ (d * 7) ^ (e * 11) ^ (f * 13) ^ (g * 17);
  Use(&sum);
}

// With an object that is destroyed also when an exception passes.
[[gnu::noinline]] void WithDestructor(SubjectPath* path) {
  struct Object {
    ~Object() { Use(this); }
    char room[72];
  } object;
  Use(&object);
  Next(path);
}

// The call is on a path that the compiler keeps away from the rest, after others have returned.
[[gnu::noinline]] void SeveralExits(SubjectPath* path) {
  if (path->depth < 0) return;
  volatile char room[40];
  room[0] = 1;
  if (__builtin_expect(path->at >= 0, 0)) {
    Next(path);
    Use(const_cast<char*>(room));
    return;
  }
  Use(path);
}

using Step = void (*)(SubjectPath*);
constexpr Step kSteps[gputrace::interpose::kSubjectSteps] = {
    PlainFrame<1>,       PlainFrame<24>,   PlainFrame<200>, PlainFrame<5000>,
    AlignedFrame<32>,    AlignedFrame<64>, GrowingFrame,    GrowingAlignedFrame,
    ArgumentsOnTheStack, ManyRegisters,    WithDestructor,  SeveralExits,
};

[[gnu::always_inline]] inline void Next(SubjectPath* path) {
  if (path->at == path->depth) {
    path->leaf(path->argument);
  } else {
    kSteps[path->steps[path->at++]](path);
  }
}

}  // namespace

extern "C" void RunSubject(SubjectPath* path) {
  path->at = 0;
  Next(path);
  Use(path);
}
