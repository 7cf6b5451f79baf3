// SPDX-License-Identifier: Apache-2.0
// `gputrace run` and the tracer read the same variables by code of their own: they must agree.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/cli/run_tracer_options.h"
#include "interpose/record/options.h"

namespace gputrace {
namespace {

// What the tracer says of one variable; empty if it takes it.
std::string TracerSays(const std::string& name, const std::string& value) {
  std::string variable = name + "=" + value;
  char* environment[] = {variable.data(), nullptr};
  const interpose::Options options = interpose::ReadOptions(environment);
  return options.error_count == 0 ? "" : options.errors[0].why;
}

constexpr const char* kValues[] = {"",
                                   "0",
                                   "1",
                                   "2",
                                   "on",
                                   "off",
                                   "paused",
                                   "auto",
                                   "native",
                                   "python",
                                   "mixed",
                                   "pytorch",
                                   "x",
                                   "-1",
                                   "256",
                                   "257",
                                   "1e3",
                                   "64KiB",
                                   "64K",
                                   "64k",
                                   "65536",
                                   "65537",
                                   "1MiB",
                                   "1048575",
                                   "1048576",
                                   "2M",
                                   "63KiB",
                                   "64MiB",
                                   "128MiB",
                                   "2GiB",
                                   "1.5GiB",
                                   "2 GiB",
                                   "99999999999999999999",
                                   "18446744073709551615",
                                   "16TiB",
                                   "10min",
                                   "/tmp/log",
                                   "relative"};

TEST(TracerAgreement, WhatRunAcceptsTheTracerAccepts) {
  for (const cli::TracerOption& option : cli::TracerOptions()) {
    for (const char* value : kValues) {
      const auto normalized = option.normalize(value);
      if (!normalized.ok()) continue;
      EXPECT_EQ(TracerSays(option.variable, *normalized), "") << option.variable << "=" << value;
    }
  }
}

TEST(TracerAgreement, WhatTheTracerAcceptsRunAccepts) {
  for (const cli::TracerOption& option : cli::TracerOptions()) {
    for (const char* value : kValues) {
      if (!TracerSays(option.variable, value).empty()) continue;
      // The tracer can wait, but nothing can tell it to begin yet.
      if (std::string(value) == "paused") continue;
      EXPECT_TRUE(option.normalize(value).ok()) << option.variable << "=" << value;
    }
  }
}

}  // namespace
}  // namespace gputrace
