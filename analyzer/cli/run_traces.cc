// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_traces.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace gputrace::cli {
namespace {

namespace fs = std::filesystem;

bool IsTrace(const fs::path& path) { return path.extension() == ".gputrace"; }

std::string TimeStamp() {
  const time_t now = time(nullptr);
  tm local{};
  localtime_r(&now, &local);
  char text[32];
  strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
  return text;
}

// A folder that nobody else has: two runs may start in the same second.
absl::StatusOr<std::string> MakeNewFolder(const std::string& program) {
  const std::string name =
      absl::StrCat("gputrace.", program.substr(program.rfind('/') + 1), ".", TimeStamp());
  constexpr int kMaxTries = 1000;
  for (int n = 0; n < kMaxTries; ++n) {
    const std::string path = n == 0 ? name : absl::StrCat(name, ".", n);
    if (mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ./", path));
  }
  return absl::AlreadyExistsError(absl::StrCat("cannot make ./", name, ": too many of that name"));
}

}  // namespace

absl::StatusOr<TraceFolder> TraceFolder::Make(const std::string& output,
                                              const std::string& program) {
  TraceFolder folder;
  std::error_code error;
  if (output.empty()) {
    auto made = MakeNewFolder(program);
    if (!made.ok()) return made.status();
    folder.shown_ = *made;
    folder.made_ = true;
  } else {
    folder.shown_ = output;
    folder.made_ = fs::create_directories(output, error);
    if (error) {
      return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", output));
    }
  }
  folder.path_ = fs::absolute(folder.shown_, error);
  if (!fs::is_directory(folder.path_, error)) {
    return absl::InvalidArgumentError(absl::StrCat(folder.shown_, " is no folder"));
  }
  if (access(folder.path_.c_str(), W_OK | X_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write into ", folder.shown_));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path_, error)) {
    if (IsTrace(entry.path())) folder.older_.insert(entry.path().filename());
  }
  const uintmax_t log_bytes = fs::file_size(folder.LogPath(), error);
  if (!error) folder.log_bytes_ = log_bytes;
  return folder;
}

std::string TraceFolder::OutputPattern() const {
  return absl::StrCat(absl::StrReplaceAll(path_, {{"%", "%%"}}), "/%e.%p.%t.gputrace");
}

std::string TraceFolder::LogPath() const { return absl::StrCat(path_, "/tracer.log"); }

TraceFolder::Yield TraceFolder::Collect() const {
  Yield yield;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename();
    if (!IsTrace(entry.path())) continue;
    if (older_.contains(name)) {
      ++yield.older;
      continue;
    }
    const uintmax_t bytes = entry.file_size(error);
    if (!error && bytes == 0) {
      ++yield.empty;
      continue;
    }
    ++yield.traces;
    if (!error) yield.bytes += bytes;
  }
  std::ifstream log(LogPath());
  log.seekg(static_cast<std::streamoff>(log_bytes_));
  for (std::string line; std::getline(log, line);) yield.last_trouble = line;
  return yield;
}

void TraceFolder::RemoveIfUnused() const {
  std::error_code error;
  if (made_ && fs::is_empty(path_, error) && !error) fs::remove(path_, error);
}

std::string ShellQuote(const std::string& word) {
  constexpr char kPlain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace gputrace::cli
