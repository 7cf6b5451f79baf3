// SPDX-License-Identifier: Apache-2.0
// The stand-in driver's journal (simulator/README.md) as changes.
#ifndef GPUTRACE_TESTS_TRUTH_JOURNAL_H_
#define GPUTRACE_TESTS_TRUTH_JOURNAL_H_

#include <string>

#include "tests/truth/account.h"

namespace gputrace::truth {

// Adds all of the file's changes. False, and why, if it cannot be read.
bool ReadJournal(const std::string& path, Account* account, std::string* error);

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_JOURNAL_H_
