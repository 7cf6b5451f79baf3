// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/survival/traced_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace gputrace {

TracedProcess::TracedProcess() {
  std::string folder = ::testing::TempDir() + "gputrace_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  folder_ = folder;
  environment["LD_PRELOAD"] = Built("lib/libgputrace.so");
  environment["LD_LIBRARY_PATH"] = Built("lib/simulator");
  environment["GPUTRACE_OUT"] = Path("t.gputrace");
}

TracedProcess::~TracedProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TracedProcess::Built(const std::string& name) {
  return std::string(GPUTRACE_BUILD) + "/" + name;
}

void TracedProcess::Start(const std::vector<std::string>& command) {
  pid_ = fork();
  ASSERT_GE(pid_, 0);
  if (pid_ != 0) return;
  const int output = open(Path("output").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(output, 1);
  dup2(output, 2);
  for (const auto& [name, value] : environment) {
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

int TracedProcess::Wait() {
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string TracedProcess::Output() const {
  std::ifstream in(Path("output"));
  return {std::istreambuf_iterator<char>(in), {}};
}

bool TracedProcess::Exists(const std::string& name) const {
  return access(Path(name).c_str(), F_OK) == 0;
}

std::vector<std::string> TracedProcess::Files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().filename() != "output") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<trace::Reader> TracedProcess::Open(const std::string& name) const {
  absl::StatusOr<std::unique_ptr<trace::Reader>> reader = trace::Reader::Open(Path(name));
  EXPECT_TRUE(reader.ok()) << reader.status() << "\n" << Output();
  return reader.ok() ? *std::move(reader) : nullptr;
}

Replay ReplayLinear(trace::Reader* reader) {
  Replay replay;
  std::map<uint32_t, uint64_t> pending;  // thread -> size of what its last intent freed
  std::map<uint32_t, uint64_t> pending_address;
  const absl::Status status = reader->ForEach([&](const trace::Record& record) {
    const trace::EntryDescriptor* entry = reader->dictionary().entry(record.entry);
    if (entry == nullptr) return;
    ++replay.records;
    if (entry->symbol == "cuMemAlloc_v2") {
      if (record.native_stack == 0) ++replay.without_stack;
      if (record.result != 0) {
        ++replay.failed;
        return;
      }
      ++replay.allocations[record.thread];
      if (!replay.live.emplace(record.operands[1], record.operands[0]).second) ++replay.impossible;
    } else if (entry->symbol == "cuMemFree_v2") {
      if (record.kind == trace::RecordKind::kCompletion) {
        if (record.result == 0) return;
        --replay.frees[record.thread];
        if (pending[record.thread] != 0) {
          replay.live[pending_address[record.thread]] = pending[record.thread];
        } else {
          --replay.impossible;  // it was never there, as the driver said as well
        }
        return;
      }
      ++replay.frees[record.thread];
      const auto found = replay.live.find(record.operands[0]);
      pending_address[record.thread] = record.operands[0];
      pending[record.thread] = found == replay.live.end() ? 0 : found->second;
      if (found == replay.live.end()) {
        ++replay.impossible;
      } else {
        replay.live.erase(found);
      }
    }
  });
  EXPECT_TRUE(status.ok()) << status;
  return replay;
}

}  // namespace gputrace
