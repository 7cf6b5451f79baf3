// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/interpose/stacks/capture.h"

namespace gputrace::interpose {
namespace {

struct Frames {
  CapturedStack ours;
  bool ok;
  std::vector<void*> libcs;  // as backtrace() sees it from the same place
};

[[gnu::noinline]] void CaptureHere(Frames* frames, uint32_t max_depth) {
  void* buffer[512];
  ForgetNames();
  frames->ok = Capture(&frames->ours, max_depth);
  frames->libcs.assign(buffer, buffer + backtrace(buffer, 512));
}

// Frames of different sizes, no tail calls.
template <int kSize>
[[gnu::noinline]] int Recurse(int depth, Frames* frames, uint32_t max_depth) {
  volatile char room[kSize];
  room[0] = static_cast<char>(depth);
  if (depth == 0) {
    CaptureHere(frames, max_depth);
  } else if (depth % 2 != 0) {
    Recurse<16>(depth - 1, frames, max_depth);
  } else {
    Recurse<200>(depth - 1, frames, max_depth);
  }
  return room[0];
}

size_t OpenFiles() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(Unwind, SeesWhatLibcSees) {
  for (const int depth : {0, 1, 10, 60, 200}) {
    Frames frames;
    Recurse<16>(depth, &frames, trace::kMaxStackDepth);
    ASSERT_TRUE(frames.ok);
    EXPECT_FALSE(frames.ours.truncated);
    EXPECT_GT(frames.ours.depth, static_cast<uint32_t>(depth));
    // The innermost frame is at another call of the same function; libc's sees one frame more at
    // the outer end (the start of the thread has no caller).
    ASSERT_GE(frames.libcs.size(), frames.ours.depth);
    for (uint32_t i = 1; i < frames.ours.depth; ++i) {
      EXPECT_EQ(frames.ours.pcs[i], reinterpret_cast<uint64_t>(frames.libcs[i])) << i;
    }
  }
}

TEST(Unwind, StopsAtTheLimitAndSaysSo) {
  for (const uint32_t limit : {1u, 8u, trace::kMaxStackDepth}) {
    Frames frames;
    Recurse<16>(400, &frames, limit);
    ASSERT_TRUE(frames.ok);
    EXPECT_EQ(frames.ours.depth, limit);
    EXPECT_TRUE(frames.ours.truncated);
  }
}

TEST(Unwind, TheHashStandsForTheStack) {
  std::vector<uint64_t> hashes;
  for (int round = 0; round < 2; ++round) {
    for (int depth = 0; depth < 20; ++depth) {
      Frames frames;
      Recurse<16>(depth, &frames, trace::kMaxStackDepth);
      EXPECT_NE(frames.ours.hash, 0u);
      hashes.push_back(frames.ours.hash);
    }
  }
  EXPECT_TRUE(std::equal(hashes.begin(), hashes.begin() + 20, hashes.begin() + 20));
  std::sort(hashes.begin(), hashes.begin() + 20);
  EXPECT_EQ(std::unique(hashes.begin(), hashes.begin() + 20), hashes.begin() + 20);
}

TEST(Unwind, LeavesErrnoAndOpensNothing) {
  const size_t before = OpenFiles();
  errno = EXDEV;
  Frames frames;
  frames.ok = Capture(&frames.ours, trace::kMaxStackDepth);
  EXPECT_EQ(errno, EXDEV);
  EXPECT_EQ(OpenFiles(), before);
}

TEST(Unwind, CodeWithoutUnwindInformation) {
  // push rbp; mov rbp, rsp; call rdi; pop rbp; ret: as a just-in-time compiler makes it.
  const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  void* page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  memcpy(page, code, sizeof(code));
  static Frames frames;
  const size_t before = OpenFiles();
  const auto call = reinterpret_cast<void (*)(void (*)())>(page);
  call([] { CaptureHere(&frames, trace::kMaxStackDepth); });
  ASSERT_TRUE(frames.ok);
  uint64_t* const end = frames.ours.pcs + frames.ours.depth;
  uint64_t* const made = std::find(frames.ours.pcs, end, reinterpret_cast<uint64_t>(page) + 6);
  ASSERT_NE(made, end);
  EXPECT_GT(end - made, 3) << "its callers are found by its frame pointer";
  EXPECT_EQ(OpenFiles(), before) << "addresses are checked without a pipe";
  munmap(page, 4096);
}

TEST(Unwind, ASignalHandlersStackGoesOnInWhatItInterrupted) {
  static Frames frames;
  signal(SIGUSR1, [](int) { CaptureHere(&frames, trace::kMaxStackDepth); });
  raise(SIGUSR1);
  signal(SIGUSR1, SIG_DFL);
  ASSERT_TRUE(frames.ok);
  EXPECT_GE(frames.ours.depth + 2, frames.libcs.size());
}

TEST(Unwind, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 200; ++i) {
        Frames frames;
        Recurse<16>((i * 7 + t) % 50, &frames, trace::kMaxStackDepth);
        if (!frames.ok || frames.ours.depth < static_cast<uint32_t>((i * 7 + t) % 50)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// New threads begin with empty caches, so that they are within libunwind's locks much of the time.
void KeepUnwinding(const std::atomic<bool>& stop) {
  while (!stop) {
    std::thread([] {
      Frames frames;
      Recurse<16>(40, &frames, trace::kMaxStackDepth);
    }).join();
  }
}

// What became of the child; it is killed if it does not end, also where it has blocked all signals.
int StatusWithin(pid_t child, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = -1;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return status;
}

TEST(Unwind, AForkedChildDoesNotWaitForThreadsThatItDoesNotHave) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&stop] { KeepUnwinding(stop); });
  int status = 0;
  for (int i = 0; i < 1000 && status == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Frames frames;
      // Other frames than before: the caches do not have them.
      Recurse<200>(30, &frames, trace::kMaxStackDepth);
      _exit(frames.ok ? 0 : 1);
    }
    status = StatusWithin(child, std::chrono::seconds(20));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace gputrace::interpose
