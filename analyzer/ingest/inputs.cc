// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ingest/inputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gputrace::ingest {
namespace {

namespace fs = std::filesystem;

absl::Status ErrorOf(const std::string& path, const std::error_code& error) {
  const std::string message = absl::StrCat(path, ": ", error.message());
  return error == std::errc::permission_denied ? absl::PermissionDeniedError(message)
                                               : absl::NotFoundError(message);
}

absl::Status AddFolder(const std::string& folder, std::vector<std::string>* files) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".gputrace") found.push_back(at->path().string());
  }
  if (error) return ErrorOf(folder, error);
  if (found.empty())
    return absl::NotFoundError(absl::StrCat(folder, ": no traces (*.gputrace) in it"));
  std::sort(found.begin(), found.end());
  files->insert(files->end(), found.begin(), found.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandInputs(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    const fs::file_status status = fs::status(argument, error);
    if (fs::is_directory(status)) {
      if (absl::Status added = AddFolder(argument, &files); !added.ok()) return added;
    } else if (!fs::exists(status)) {
      if (!error) error = std::make_error_code(std::errc::no_such_file_or_directory);
      return ErrorOf(argument, error);
    } else {
      files.push_back(argument);
    }
  }
  return files;
}

}  // namespace gputrace::ingest
