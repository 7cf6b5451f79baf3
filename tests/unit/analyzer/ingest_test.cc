// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ingest/inputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analyzer/ingest/job.h"
#include "gmock/gmock.h"

namespace gputrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InputsTest : public ::testing::Test {
 protected:
  InputsTest() {
    std::string name = ::testing::TempDir() + "inputsXXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~InputsTest() override { std::filesystem::remove_all(folder_); }
  std::string Touch(const std::string& name) {
    std::ofstream(folder_ + "/" + name).put('x');
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(InputsTest, AFolderStandsForItsTracesInOrder) {
  const std::string b = Touch("b.gputrace");
  const std::string a = Touch("a.gputrace");
  Touch("a.gputrace.live");
  Touch("notes.txt");
  EXPECT_THAT(*ExpandInputs({folder_}), ElementsAre(a, b));
}

TEST_F(InputsTest, AFileStandsForItselfWhateverItsName) {
  const std::string file = Touch("trace.old");
  EXPECT_THAT(*ExpandInputs({file, file}), ElementsAre(file, file));
}

TEST_F(InputsTest, AnEmptyFolderIsAnError) {
  const auto inputs = ExpandInputs({folder_});
  EXPECT_EQ(inputs.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(inputs.status().message()), HasSubstr(folder_));
}

TEST_F(InputsTest, WhatIsNotThereIsAnError) {
  const auto inputs = ExpandInputs({folder_ + "/none"});
  EXPECT_EQ(inputs.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(inputs.status().message()), HasSubstr("none: No such file"));
}

TEST_F(InputsTest, AJobNamesTheTraceThatCannotBeRead) {
  const auto job = Job::Open({Touch("bad.gputrace")});
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(job.status().message()), HasSubstr("bad.gputrace"));
}

}  // namespace
}  // namespace gputrace::ingest
