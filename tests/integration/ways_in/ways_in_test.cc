// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/integration/survival/traced_process.h"

namespace gputrace {
namespace {

// How often each symbol was called, by the trace.
std::map<std::string, int> Calls(const TracedProcess& process) {
  std::map<std::string, int> calls;
  const std::unique_ptr<trace::Reader> reader = process.Open();
  if (reader == nullptr) return calls;
  EXPECT_TRUE(reader
                  ->ForEach([&](const trace::Record& record) {
                    if (record.kind == trace::RecordKind::kCompletion) return;
                    const trace::EntryDescriptor* entry = reader->dictionary().entry(record.entry);
                    if (entry != nullptr) ++calls[entry->symbol];
                  })
                  .ok());
  return calls;
}

void ExpectLinear(const TracedProcess& process) {
  const std::map<std::string, int> calls = Calls(process);
  EXPECT_THAT(calls,
              ::testing::IsSupersetOf(std::map<std::string, int>{{"cuInit", 1},
                                                                 {"cuDevicePrimaryCtxRetain", 1},
                                                                 {"cuCtxSetCurrent", 1},
                                                                 {"cuMemAlloc_v2", 10},
                                                                 {"cuMemFree_v2", 10}}));
}

struct Way {
  const char* name;
  std::vector<std::string> command;
};

class WaysIn : public ::testing::TestWithParam<Way> {};

TEST_P(WaysIn, EveryCallIsSeenOnceAndAnsweredTheSame) {
  for (const char* distinct : {"0", "1"}) {
    std::vector<std::string> command = GetParam().command;
    command[0] = TracedProcess::Built("workloads/" + command[0]);
    TracedProcess bare;
    bare.environment["LD_PRELOAD"] = "";
    bare.environment["GPUSIM_DISTINCT_POINTERS"] = distinct;
    const int code = bare.Run(command);
    ASSERT_EQ(code, 0) << bare.Output();
    TracedProcess traced;
    // cuGetProcAddress may answer with other addresses than those that the library exports.
    traced.environment["GPUSIM_DISTINCT_POINTERS"] = distinct;
    EXPECT_EQ(traced.Run(command), code) << traced.Output();
    EXPECT_EQ(traced.Output(), bare.Output());
    ExpectLinear(traced);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WaysIn,
    ::testing::Values(
        Way{"LinkedLazily", {"linked_lazy"}}, Way{"LinkedNow", {"linked_now"}},
        Way{"LinkedWithoutPlt", {"linked_no_plt"}},
        Way{"PointerInStaticData", {"linked_static_pointer"}}, Way{"Dlsym", {"resolving", "dlsym"}},
        Way{"RtldDefault", {"resolving", "rtld_default"}},
        Way{"RtldNext", {"resolving", "rtld_next"}},
        Way{"HandleWithDeepbind", {"resolving", "deepbind"}},
        Way{"NamespaceOfItsOwn", {"resolving", "dlmopen"}},
        Way{"LibraryWithAScopeOfItsOwn",
            {"resolving", "plugin", TracedProcess::Built("lib/libways_in_plugin.so")}},
        Way{"ConstructorBeforeOurs", {"linked_early"}},
        Way{"AbsolutePath",
            {"resolving", "dlsym", TracedProcess::Built("lib/simulator/libcuda.so.1")}},
        Way{"GetProcAddressV1", {"resolving", "get_proc_address_v1"}},
        Way{"GetProcAddressThroughItself", {"resolving", "through_itself"}}),
    [](const auto& way) { return std::string(way.param.name); });

TEST(WaysIn, VersionsGetTheAbiTheyAskFor) {
  TracedProcess bare;
  bare.environment["LD_PRELOAD"] = "";
  TracedProcess traced;
  const std::vector<std::string> command = {TracedProcess::Built("workloads/resolving"),
                                            "get_proc_address_v2"};
  EXPECT_EQ(bare.Run(command), 0);
  EXPECT_EQ(traced.Run(command), 0);
  EXPECT_EQ(traced.Output(), bare.Output());
  EXPECT_EQ(traced.Output(), "1\n500\n0 2\n");
  ExpectLinear(traced);
}

TEST(WaysIn, PerThreadStreamsAreEntriesOfTheirOwn) {
  TracedProcess process;
  EXPECT_EQ(process.Run({TracedProcess::Built("workloads/resolving"), "per_thread"}), 0)
      << process.Output();
  ExpectLinear(process);
  const std::map<std::string, int> calls = Calls(process);
  EXPECT_EQ(calls.at("cuMemAllocAsync_ptsz"), 1);
  EXPECT_EQ(calls.at("cuMemFreeAsync_ptsz"), 1);
}

TEST(WaysIn, ANameThatIsNotThereIsNotThere) {
  TracedProcess process;
  EXPECT_EQ(process.Run({TracedProcess::Built("workloads/resolving"), "missing"}), 0);
  EXPECT_EQ(process.Output(), "1 1\n") << "NULL, and dlerror says why";
}

TEST(WaysIn, CtypesOfPython) {
  TracedProcess process;
  EXPECT_EQ(process.Run(
                {"/usr/bin/python3", "-c",
                 "import ctypes\n"
                 "cuda = ctypes.CDLL('libcuda.so.1')\n"
                 "context, address = ctypes.c_void_p(), ctypes.c_uint64()\n"
                 "assert cuda.cuInit(0) == 0\n"
                 "assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0\n"
                 "assert cuda.cuCtxSetCurrent(context) == 0\n"
                 "for i in range(10):\n"
                 "  assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0\n"
                 "  assert cuda.cuMemFree_v2(address) == 0\n"}),
            0)
      << process.Output();
  ExpectLinear(process);
}

class OtherPreload : public ::testing::TestWithParam<bool> {};

TEST_P(OtherPreload, ItsHooksGoOnWorking) {
  const bool before = GetParam();
  TracedProcess process;
  const std::string ours = TracedProcess::Built("lib/libgputrace.so");
  const std::string other = TracedProcess::Built("lib/libother_dlsym.so");
  process.environment["LD_PRELOAD"] = before ? other + ":" + ours : ours + ":" + other;
  EXPECT_EQ(process.Run({TracedProcess::Built("workloads/resolving"), "dlsym"}), 0)
      << process.Output();
  if (before) {
    // It takes libc's dlsym for itself and passes by ours: it works as it did, and we see nothing.
    EXPECT_EQ(process.Output(), "quota tool: 10 calls\n");
  } else {
    EXPECT_EQ(process.Output(), "quota tool: 10 calls\n");
    ExpectLinear(process);
  }
}
INSTANTIATE_TEST_SUITE_P(Order, OtherPreload, ::testing::Bool(),
                         [](const auto& order) { return order.param ? "BeforeUs" : "AfterUs"; });

struct RuntimeCase {
  const char* name;
  const char* profile;  // of the driver
  const char* kind;     // of default stream
  const char* allocate;
  const char* reset;  // an old ABI, where the runtime asks for it and the driver has it
};
class StaticRuntime : public ::testing::TestWithParam<RuntimeCase> {};

TEST_P(StaticRuntime, IsSeenThrough) {
  for (const char* distinct : {"0", "1"}) {
    TracedProcess process;
    process.environment["GPUSIM_DISTINCT_POINTERS"] = distinct;
    process.environment["LD_LIBRARY_PATH"] =
        TracedProcess::Built("lib/simulator/") + GetParam().profile;
    EXPECT_EQ(
        process.Run({TracedProcess::Built("workloads/static_runtime"), TABLE, GetParam().kind}), 0)
        << process.Output();
    ExpectLinear(process);
    const std::map<std::string, int> calls = Calls(process);
    EXPECT_THAT(calls, ::testing::IsSupersetOf(std::map<std::string, int>{{GetParam().allocate, 1},
                                                                          {GetParam().reset, 1}}));
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, StaticRuntime,
    ::testing::Values(
        RuntimeCase{"Newest", "", "legacy", "cuMemAllocAsync", "cuDevicePrimaryCtxReset"},
        RuntimeCase{"PerThreadStream", "", "per_thread", "cuMemAllocAsync_ptsz",
                    "cuDevicePrimaryCtxReset"},
        RuntimeCase{"OnCuda12", "12.2", "legacy", "cuMemAllocAsync", "cuDevicePrimaryCtxReset"},
        // No cuGetProcAddress_v2 there: each name by dlsym.
        RuntimeCase{"WithoutResolver", "11.4", "per_thread", "cuMemAllocAsync_ptsz",
                    "cuDevicePrimaryCtxReset"}),
    [](const auto& way) { return std::string(way.param.name); });

// Exporting the entry, not overriding dlsym: a linked program reaches it as the loader's order has
// it, and each call is one event wherever we stand.
class OtherExport : public ::testing::TestWithParam<std::tuple<bool, const char*>> {};

TEST_P(OtherExport, EachCallIsCountedOnceByBoth) {
  const auto& [before, program] = GetParam();
  TracedProcess process;
  const std::string ours = TracedProcess::Built("lib/libgputrace.so");
  const std::string other = TracedProcess::Built("lib/libother_quota.so");
  process.environment["LD_PRELOAD"] = before ? other + ":" + ours : ours + ":" + other;
  EXPECT_EQ(process.Run({TracedProcess::Built(std::string("workloads/") + program)}), 0)
      << process.Output();
  EXPECT_EQ(process.Output(), "quota tool: 10 calls\n");
  ExpectLinear(process);
}
INSTANTIATE_TEST_SUITE_P(All, OtherExport,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values("linked_lazy", "linked_no_plt")),
                         [](const auto& way) {
                           return std::string(std::get<1>(way.param)) +
                                  (std::get<0>(way.param) ? "_BeforeUs" : "_AfterUs");
                         });

TEST(WaysIn, ADriverThatLooksItselfUpIsCountedOnce) {
  for (const char* way : {"dlsym", "rtld_default", "dlvsym"}) {
    TracedProcess process;
    process.environment["LD_LIBRARY_PATH"] = TracedProcess::Built("workloads/forwarding");
    process.environment["REAL_DRIVER"] = TracedProcess::Built("lib/simulator/libcuda.so.1");
    EXPECT_EQ(process.Run({TracedProcess::Built("workloads/resolving"), way}), 0)
        << process.Output();
    ExpectLinear(process);
  }
}

TEST(WaysIn, WithoutADriverNobodyIsToldThatThereIsOne) {
  TracedProcess process;
  process.environment["LD_LIBRARY_PATH"] = "/nonexistent";
  EXPECT_EQ(process.Run({TracedProcess::Built("workloads/exported_call")}), 0);
  // dlsym and dlopen find none; a weak reference is bound to our export, which answers as it must.
  EXPECT_EQ(process.Output(), "1 1 302\n");
  EXPECT_FALSE(process.Exists("t.gputrace"));
}

TEST(WaysIn, RtldNextOfAnotherPreloadFindsTheRealFunction) {
  for (const bool before : {true, false}) {
    TracedProcess process;
    const std::string ours = TracedProcess::Built("lib/libgputrace.so");
    const std::string other = TracedProcess::Built("lib/libother_next.so");
    process.environment["LD_PRELOAD"] = before ? other + ":" + ours : ours + ":" + other;
    EXPECT_EQ(
        process.Run(
            {"/usr/bin/python3", "-c",
             "import ctypes; libc = ctypes.CDLL(None); libc.puts(b'text'); libc.fflush(None)"}),
        0);
    EXPECT_EQ(process.Output(), "wrapped:\ntext\n");
  }
}

}  // namespace
}  // namespace gputrace
