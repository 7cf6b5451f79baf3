// SPDX-License-Identifier: Apache-2.0
// Random programs that are mostly sensible.
#ifndef GPUTRACE_TESTS_TRUTH_GENERATOR_H_
#define GPUTRACE_TESTS_TRUTH_GENERATOR_H_

#include <cstdint>

#include "tests/truth/program.h"

namespace gputrace::truth {

// The same program for the same seed and number of steps, on every machine.
Program Generate(uint64_t seed, uint64_t steps);

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_GENERATOR_H_
