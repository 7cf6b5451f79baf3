// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/run_child.h"
#include "analyzer/cli/run_environment.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/cli/run_tracer_options.h"
#include "analyzer/cli/run_traces.h"
#include "analyzer/report/terminal.h"
#include "analyzer/report/units.h"

namespace gputrace::cli {
namespace {

// To stderr: standard output is the command's alone.
void Say(const std::string& text) {
  std::fprintf(stderr, "gputrace: %s\n", report::EscapeForTerminal(text).c_str());
}

int Refuse(const absl::Status& status) {
  Say(std::string(status.message()));
  return kExitUsage;
}

// Everything that the tracer and the stand-in GPU read.
absl::Status PrepareEnvironment(const RunOptions& options, const Installation& installation,
                                Environment* environment) {
  if (absl::Status status = NormalizeVariables(environment); !status.ok()) return status;
  for (const auto& [name, value] : options.tracer) environment->Set(name, value);
  if (absl::Status status = CheckLibrary(installation.library); !status.ok()) return status;
  environment->Prepend("LD_PRELOAD", installation.library, ':');
  if (options.simulated_bytes.empty()) return absl::OkStatus();
  return AddSimulator(installation.simulator, options.simulated_bytes, environment);
}

int SayCannotRun(const std::string& program, int error) {
  const int code = StartFailureCode(program, error);
  const char* why = code == kCommandNotFound ? "command not found"
                    : error == ENOENT        ? "its interpreter does not exist"
                                             : std::strerror(error);
  Say(absl::StrCat("cannot run ", ShellQuote(program), ": ", why));
  return code;
}

std::string Traces(int count) { return absl::StrCat(count, count == 1 ? " trace" : " traces"); }

void Close(const TraceFolder& folder, const RunOptions& options, const Environment& environment,
           const std::string& own_name) {
  const TraceFolder::Yield yield = folder.Collect();
  if (!yield.last_trouble.empty())
    Say(absl::StrCat("the tracer had trouble: ", yield.last_trouble));
  if (yield.empty > 0) {
    Say(absl::StrCat("nothing could be written into ", Traces(yield.empty), " in ", folder.shown(),
                     ": is the disk full?"));
    if (yield.traces == 0) return;
  }
  if (yield.traces == 0) {
    Say(absl::StrCat("no trace was written: ", WhyNoTrace(options.command[0], environment)));
    return;
  }
  const std::string folder_word = ShellQuote(folder.shown());
  Say(absl::StrFormat("%s (%s) in %s%s", Traces(yield.traces), report::FormatBytes(yield.bytes),
                      folder.shown(),
                      yield.older == 0 ? "" : absl::StrCat(", beside ", yield.older, " older")));
  Say(absl::StrCat("next: ", own_name, " summary ", folder_word));
}

}  // namespace

bool IsRun(int argc, char** argv) { return argc > 1 && std::strcmp(argv[1], "run") == 0; }

int RunMain(int argc, char** argv) {
  const auto options = ParseRunOptions(std::vector<std::string>(argv + 2, argv + argc));
  if (!options.ok()) return Refuse(options.status());
  if (options->help) {
    std::fputs(RunHelp().c_str(), stdout);
    return kExitDone;
  }
  Environment environment = Environment::OfThisProcess();
  if (!options->quiet) {
    for (const std::string& name : UnknownVariables(environment)) {
      Say(absl::StrCat("warning: ", name, " means nothing to this version"));
    }
  }
  const Installation installation = FindInstallation(environment);
  if (absl::Status status = PrepareEnvironment(*options, installation, &environment);
      !status.ok()) {
    return Refuse(status);
  }
  const auto folder = TraceFolder::Make(options->output, options->command[0]);
  if (!folder.ok()) return Refuse(folder.status());
  environment.Set("GPUTRACE_OUT", folder->OutputPattern());
  if (!environment.Get("GPUTRACE_LOG")) environment.Set("GPUTRACE_LOG", folder->LogPath());

  const ChildResult result = RunChild(options->command, environment);
  if (result.start_error != 0) {
    folder->RemoveIfUnused();
    return SayCannotRun(options->command[0], result.start_error);
  }
  if (!options->quiet) Close(*folder, *options, environment, ShellQuote(argv[0]));
  folder->RemoveIfUnused();
  return EndLike(result.wait_status);
}

}  // namespace gputrace::cli
