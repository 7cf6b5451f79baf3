// SPDX-License-Identifier: Apache-2.0
// Compiled by the symbolizer's tests in many ways; they know its lines by the marks at their ends.
#ifndef BUILD
#define BUILD 1  // another number makes another build-id
#endif

using Address = unsigned long;

extern "C" {
Address subject_pc;        // where the last probe was called from
void (*subject_leave)();   // does not return
void (*subject_hidden)();  // a function that no table exports
int subject_run(int value);
void subject_run_hidden();
void subject_last_call();
}

namespace shapes {

[[gnu::noinline]] void Probe() {
  subject_pc = reinterpret_cast<Address>(__builtin_return_address(0));
  asm volatile("" : : : "memory");
}

[[gnu::always_inline]] inline void Inner(int value) {
  Probe();  // MARK inner
  asm volatile("" : : "r"(value) : "memory");
}

template <typename T>
struct Outer {
  [[gnu::always_inline]] static void Middle(T value) {
    if (value > 0) {
      Inner(value);  // MARK middle
      asm volatile("" : : : "memory");
    }
  }
};

[[noreturn, gnu::noinline]] void ProbeAndLeave() {
  subject_pc = reinterpret_cast<Address>(__builtin_return_address(0));
  for (;;) subject_leave();
}

}  // namespace shapes

[[gnu::noinline]] static void Hidden() {
  shapes::Probe();  // MARK hidden
  asm volatile("" : : : "memory");
}

int subject_run(int value) {
  shapes::Outer<int>::Middle(value);  // MARK run
  return value + BUILD;
}

void subject_run_hidden() {
  subject_hidden = Hidden;
  subject_hidden();
  asm volatile("" : : : "memory");
}

[[gnu::noinline]] void subject_last_call() {
  shapes::ProbeAndLeave();  // MARK last
}
