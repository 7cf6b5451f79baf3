// SPDX-License-Identifier: Apache-2.0
// Captured stacks are those that libgcc finds, or shorter and marked so: in code of several
// compilers, in signal handlers, coroutines, code made at run time, and code that takes another's
// place.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/interpose/stacks/capture.h"
#include "tests/unit/interpose/stacks/oracle.h"
#include "tests/unit/interpose/stacks/stack_subject.h"

extern "C" void __register_frame(void*);
extern "C" void __deregister_frame(void*);

namespace gputrace::interpose {
namespace {

using Subject = void (*)(SubjectPath*);

// Stacks per subject; a longer run asks for more.
uint64_t Rounds() {
  const char* text = getenv("GPUTRACE_TEST_STACKS");
  return text != nullptr ? strtoull(text, nullptr, 10) : 600;
}

std::vector<std::string> SubjectNames() {
  std::vector<std::string> names;
  std::string name;
  for (const char letter : std::string(SUBJECTS) + ",") {
    if (letter == ',') {
      names.push_back(name);
      name.clear();
    } else {
      name += letter;
    }
  }
  return names;
}

Subject Load(const std::string& name) {
  void* library = dlopen((SUBJECT_FOLDER "/lib" + name + ".so").c_str(), RTLD_NOW);
  return reinterpret_cast<Subject>(library == nullptr ? nullptr : dlsym(library, "RunSubject"));
}

std::vector<uint8_t> RandomSteps(std::mt19937* random, int depth) {
  std::vector<uint8_t> steps(static_cast<size_t>(depth));
  for (uint8_t& step : steps) step = static_cast<uint8_t>((*random)() % kSubjectSteps);
  return steps;
}

void CallAlong(Subject subject, const std::vector<uint8_t>& steps, void (*leaf)(void*),
               void* argument) {
  SubjectPath path{steps.data(), static_cast<int>(steps.size()), 0, leaf, argument};
  subject(&path);
}

// Half of them new, half of them repeated or with another inner part.
void RunMany(Subject subject, uint64_t count, Oracle* oracle) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<std::vector<uint8_t>> paths(20);
  for (auto& path : paths) path = RandomSteps(&random, static_cast<int>(1 + random() % 300));
  for (uint64_t i = 0; i < count; ++i) {
    std::vector<uint8_t>& path = paths[random() % paths.size()];
    if (random() % 8 == 0) path = RandomSteps(&random, static_cast<int>(1 + random() % 300));
    if (random() % 4 == 0) path.back() = static_cast<uint8_t>(random() % kSubjectSteps);
    if (random() % 8 == 0) {
      path[path.size() / 2] = static_cast<uint8_t>(random() % kSubjectSteps);
    }
    CallAlong(subject, path, Oracle::CheckIt, oracle);
  }
}

class Exactness : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    subject_ = Load(GetParam());
    ASSERT_NE(subject_, nullptr) << dlerror();
  }
  Subject subject_ = nullptr;
};

TEST_P(Exactness, RandomStacks) {
  for (const uint32_t limit : {trace::kMaxStackDepth, 40u}) {
    UseFindObject(limit != 40);
    Oracle oracle(limit);
    RunMany(subject_, Rounds(), &oracle);
    EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
    EXPECT_EQ(oracle.cut_short(), 0u);
    EXPECT_GT(oracle.known(), Rounds() / 10);
  }
  UseFindObject(true);
}

Oracle* g_oracle = nullptr;

TEST_P(Exactness, InSignalHandlers) {
  Oracle oracle;
  g_oracle = &oracle;
  std::vector<char> stack(256u << 10);
  for (const bool own_stack : {false, true}) {
    const stack_t place{stack.data(), own_stack ? 0 : SS_DISABLE, stack.size()};
    sigaltstack(&place, nullptr);
    struct sigaction action {};
    action.sa_handler = [](int) { g_oracle->Check(); };
    action.sa_flags = own_stack ? SA_ONSTACK : 0;
    sigaction(SIGUSR1, &action, nullptr);
    std::mt19937 random(1);
    for (int i = 0; i < 100; ++i) {
      CallAlong(
          subject_, RandomSteps(&random, 1 + i % 60), [](void*) { raise(SIGUSR1); }, nullptr);
    }
  }
  signal(SIGUSR1, SIG_DFL);
  const stack_t none{nullptr, SS_DISABLE, 0};
  sigaltstack(&none, nullptr);
  EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
  EXPECT_EQ(oracle.cut_short(), 0u);
}

// A timer's signal comes between any two instructions: in prologues and epilogues, too.
TEST_P(Exactness, AtAnyInstruction) {
  Oracle oracle;
  g_oracle = &oracle;
  signal(SIGPROF, [](int) {
    if (!g_oracle->checking()) g_oracle->Check();
  });
  const itimerval interval{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &interval, nullptr);
  std::mt19937 random(1);
  const std::vector<uint8_t> steps = RandomSteps(&random, 40);
  for (int i = 0; i < 20'000'000 && oracle.checked() < 40; ++i) {
    CallAlong(
        subject_, steps, [](void*) {}, nullptr);
  }
  const itimerval never{};
  setitimer(ITIMER_PROF, &never, nullptr);
  signal(SIGPROF, SIG_DFL);
  EXPECT_GE(oracle.checked(), 40u);
  EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
}

INSTANTIATE_TEST_SUITE_P(AllCompilers, Exactness, testing::ValuesIn(SubjectNames()),
                         [](const auto& subject) { return subject.param; });

struct Coroutine {
  ucontext_t context;
  ucontext_t* back;
  Subject subject;
  Oracle* oracle;
  std::mt19937 random;
};

// Captures, lets the other one run in the middle of its stack, and captures again.
void RunCoroutine(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Coroutine*>(uint64_t{high} << 32 | low);
  for (;;) {
    const int depth = static_cast<int>(1 + self->random() % 50);
    CallAlong(
        self->subject, RandomSteps(&self->random, depth),
        [](void* argument) {
          auto* coroutine = static_cast<Coroutine*>(argument);
          coroutine->oracle->Check();
          swapcontext(&coroutine->context, coroutine->back);
          coroutine->oracle->Check();
        },
        self);
  }
}

TEST(ExactnessOf, Coroutines) {
  constexpr size_t kStackBytes = 512u << 10;
  const Subject subject = Load(SubjectNames().front());
  Oracle oracle;
  ucontext_t back;
  Coroutine coroutines[2];
  for (Coroutine& coroutine : coroutines) {
    getcontext(&coroutine.context);
    // Beside each other, without a guard between.
    static char stacks[2][kStackBytes];
    coroutine.context.uc_stack.ss_sp = stacks[&coroutine - coroutines];
    coroutine.context.uc_stack.ss_size = kStackBytes;
    coroutine.context.uc_link = nullptr;
    coroutine.back = &back;
    coroutine.subject = subject;
    coroutine.oracle = &oracle;
    coroutine.random.seed(7);
    const auto word = reinterpret_cast<uint64_t>(&coroutine);
    makecontext(&coroutine.context, reinterpret_cast<void (*)()>(RunCoroutine), 2,
                static_cast<unsigned>(word >> 32), static_cast<unsigned>(word));
  }
  for (int i = 0; i < 1000; ++i) {
    swapcontext(&back, &coroutines[i % 2].context);
    if (i % 10 == 0) oracle.Check();
  }
  EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
  EXPECT_EQ(oracle.cut_short(), 0u);
}

// Stacks that are unmapped when their coroutine has ended, and others that come to be there.
TEST(ExactnessOf, StacksThatComeAndGo) {
  const Subject subject = Load(SubjectNames().front());
  static Oracle oracle;
  static ucontext_t back;
  static Subject run;
  run = subject;
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const size_t size = (64u + random() % 4 * 64) << 10;
    void* stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(stack, MAP_FAILED);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = size;
    context.uc_link = &back;
    makecontext(
        &context,
        [] {
          std::mt19937 same(5);
          for (int n = 0; n < 4; ++n)
            CallAlong(run, RandomSteps(&same, 8), Oracle::CheckIt, &oracle);
        },
        0);
    swapcontext(&back, &context);
    munmap(stack, size);
  }
  EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
  EXPECT_EQ(oracle.cut_short(), 0u);
  EXPECT_GT(oracle.known(), 0u);
}

// Code made at run time that calls its argument, with its frame information.
class MadeCode {
 public:
  MadeCode(const std::vector<uint8_t>& code, const std::vector<uint8_t>& instructions) {
    page_ = static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memcpy(page_, code.data(), code.size());
    at_ = page_ + 4096;
    // CIE: version 1, no augmentation, factors 1 and -8, return address in column 16; the CFA is
    // rsp + 8, the return address is just below.
    Record({0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1});
    const uint64_t distance = static_cast<uint64_t>(at_ - page_) - 4096 + 4;
    std::vector<uint8_t> fde(20);
    memcpy(&fde[0], &distance, 4);
    memcpy(&fde[4], &page_, 8);
    const uint64_t size = code.size();
    memcpy(&fde[12], &size, 8);
    fde.insert(fde.end(), instructions.begin(), instructions.end());
    Record(fde);
    __register_frame(page_ + 4096);
  }
  ~MadeCode() {
    __deregister_frame(page_ + 4096);
    munmap(page_, 8192);
  }
  void Call(void (*function)()) { reinterpret_cast<void (*)(void (*)())>(page_)(function); }

 private:
  void Record(std::vector<uint8_t> bytes) {
    while (bytes.size() % 8 != 4) bytes.push_back(0);
    const auto length = static_cast<uint32_t>(bytes.size());
    memcpy(at_, &length, 4);
    memcpy(at_ + 4, bytes.data(), bytes.size());
    at_ += 4 + bytes.size();
  }
  uint8_t* page_;
  uint8_t* at_;
};

TEST(ExactnessOf, CodeMadeAtRunTime) {
  static Oracle oracle;
  for (const std::string& name : SubjectNames()) {
    static Subject subject;
    subject = Load(name);
    for (int i = 0; i < 20; ++i) {
      // push rbp; mov rbp, rsp; call rdi; pop rbp; ret
      MadeCode with_frame_pointer({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3},
                                  {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x43, 0x0c, 7, 8});
      // sub rsp, 24; call rdi; add rsp, 24; ret
      MadeCode without({0x48, 0x83, 0xec, 24, 0xff, 0xd7, 0x48, 0x83, 0xc4, 24, 0xc3},
                       {0x44, 0x0e, 32, 0x46, 0x0e, 8});
      static MadeCode* code;
      std::mt19937 random(static_cast<unsigned>(i));
      for (MadeCode* made : {&with_frame_pointer, &without}) {
        code = made;
        CallAlong(
            subject, RandomSteps(&random, 10),
            [](void*) {
              code->Call([] {
                std::mt19937 inner(1);
                CallAlong(subject, RandomSteps(&inner, 10), Oracle::CheckIt, &oracle);
              });
            },
            nullptr);
      }
    }
  }
  EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
  EXPECT_LT(oracle.cut_short(), oracle.checked()) << "frame pointers lead out of it";
}

// Two libraries that are alike but for the sizes of their frames, one after the other in one place.
void TakePlaces() {
  Oracle oracle;
  std::vector<uint64_t> places;
  int in_one_place = 0;
  std::mt19937 random(1);
  const std::vector<uint8_t> steps(30, 0);
  for (int i = 0; i < 200; ++i) {
    void* library = dlopen(i % 2 == 0 ? ALIKE_A : ALIKE_B, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto run = reinterpret_cast<Subject>(dlsym(library, "RunAlike"));
    ASSERT_NE(run, nullptr);
    places.push_back(reinterpret_cast<uint64_t>(run));
    if (i > 0 && places[static_cast<size_t>(i)] == places[static_cast<size_t>(i - 1)]) {
      ++in_one_place;
    }
    for (int n = 0; n < 3; ++n) CallAlong(run, steps, Oracle::CheckIt, &oracle);
    UnloadObject(library);
  }
  EXPECT_GT(in_one_place, 100);
  EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
  EXPECT_EQ(oracle.cut_short(), 0u);
  EXPECT_GT(oracle.known(), 100u);
}

TEST(ExactnessOf, CodeInAnothersPlace) {
  TakePlaces();
  UseFindObject(false);
  TakePlaces();
  UseFindObject(true);
}

TEST(ExactnessOf, ThreadsWhileOthersUnload) {
  std::atomic<bool> stop{false};
  std::thread unloader([&stop] {
    while (!stop) {
      for (const char* path : {ALIKE_A, ALIKE_B}) {
        void* library = dlopen(path, RTLD_NOW);
        const auto run = reinterpret_cast<Subject>(dlsym(library, "RunAlike"));
        Oracle oracle;
        const std::vector<uint8_t> steps(30, 0);
        for (int n = 0; n < 3; ++n) CallAlong(run, steps, Oracle::CheckIt, &oracle);
        EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
        UnloadObject(library);
      }
    }
  });
  const Subject subject = Load(SubjectNames().back());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([subject] {
      Oracle oracle;
      RunMany(subject, Rounds(), &oracle);
      EXPECT_EQ(oracle.wrong(), 0u) << oracle.first_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  unloader.join();
}

}  // namespace
}  // namespace gputrace::interpose
