// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace gputrace::cli {
namespace {

// What may be sent to us for the command. Not among them: faults, which are our own, and what the
// terminal does to a background process that reads or writes.
sigset_t ForwardedSignals() {
  sigset_t set;
  sigfillset(&set);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE,
                           SIGTTIN, SIGTTOU, SIGCHLD}) {
    sigdelset(&set, signal);
  }
  return set;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Signals as they were before, for the command.
struct SignalState {
  sigset_t mask;
  struct sigaction child_action;
};

[[noreturn]] void Execute(char* const* words, char* const* variables, const SignalState& signals,
                          int error_pipe) {
  sigaction(SIGCHLD, &signals.child_action, nullptr);
  sigprocmask(SIG_SETMASK, &signals.mask, nullptr);
  execvpe(words[0], words, variables);
  const int error = errno;
  // If this fails, the exit code below still says that nothing ran.
  [[maybe_unused]] const ssize_t n = write(error_pipe, &error, sizeof(error));
  _exit(127);
}

// Stops this process as the command was stopped, until both are continued. In a process group that
// no shell controls the system drops the signal, as it would have for the command.
void StopLike(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigset_t before;
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &one, &before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

// Takes in all that happened to the command; true once it has ended.
bool HasEnded(pid_t child, int* wait_status) {
  for (;;) {
    int status = 0;
    const pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED);
    if (changed < 0 && errno == EINTR) continue;
    if (changed <= 0) return false;
    if (!WIFSTOPPED(status)) {
      *wait_status = status;
      return true;
    }
    // Who stops it by SIGSTOP means this process alone.
    const int signal = WSTOPSIG(status);
    if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) StopLike(signal);
  }
}

void Wait(pid_t child, const sigset_t& forwarded, int* wait_status) {
  sigset_t awaited = forwarded;
  sigaddset(&awaited, SIGCHLD);
  while (!HasEnded(child, wait_status)) {
    siginfo_t info;
    const int signal = sigwaitinfo(&awaited, &info);
    if (signal <= 0 || signal == SIGCHLD) continue;
    // The terminal's signals go to the whole process group, the command included; what the command
    // sends to its parent is not meant for itself.
    const bool from_process = info.si_code <= 0;
    if (from_process && info.si_pid != child) kill(child, signal);
  }
}

}  // namespace

ChildResult RunChild(const std::vector<std::string>& command, const Environment& environment) {
  const std::vector<std::string> strings = environment.ToStrings();
  const std::vector<char*> words = Pointers(command);
  const std::vector<char*> variables = Pointers(strings);
  ChildResult result;
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return {errno, 0};
  const sigset_t forwarded = ForwardedSignals();
  sigset_t blocked = forwarded;
  sigaddset(&blocked, SIGCHLD);
  SignalState signals;
  sigprocmask(SIG_BLOCK, &blocked, &signals.mask);
  // Whoever started us may have chosen not to hear of children; we have to.
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &default_action, &signals.child_action);
  const pid_t child = fork();
  if (child == 0) Execute(words.data(), variables.data(), signals, error_pipe[1]);
  result.start_error = child < 0 ? errno : 0;
  close(error_pipe[1]);
  if (child > 0) {
    int error = 0;
    ssize_t n = 0;
    do {
      n = read(error_pipe[0], &error, sizeof(error));
    } while (n < 0 && errno == EINTR);
    if (n == static_cast<ssize_t>(sizeof(error))) result.start_error = error;
    Wait(child, forwarded, &result.wait_status);
  }
  close(error_pipe[0]);
  return result;
}

int StartFailureCode(const std::string& program, int error) {
  if (error != ENOENT) return kCommandNotExecutable;
  // A script whose interpreter is missing fails in the same way as a missing command.
  const bool exists = program.find('/') != std::string::npos && access(program.c_str(), F_OK) == 0;
  return exists ? kCommandNotExecutable : kCommandNotFound;
}

int EndLike(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal = WTERMSIG(wait_status);
  // The command has left its core, if it was to leave one; ours would overwrite it.
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  sigaction(signal, &default_action, nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  return 128 + signal;
}

}  // namespace gputrace::cli
