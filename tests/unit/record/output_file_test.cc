// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

namespace gputrace::interpose {
namespace {

std::string Expand(const char* pattern) {
  PathBuffer path;
  ExpandOutputPath(pattern, {77, 1234567890, "node/3", "5", "py\nthon"}, &path);
  return path.c_str();
}

TEST(ExpandOutputPath, FillsInAllPlaceholders) {
  EXPECT_EQ(Expand("/t/%e.%p.%r.%t.%%"), "/t/py_thon.77.5.1234567890.%");
  EXPECT_EQ(Expand("%h"), "node_3") << "a name must not become another path";
  EXPECT_EQ(Expand("%x%"), "%x%") << "what is no placeholder stays";
}

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    folder_ = ::testing::TempDir() + "gputrace_out_" + std::to_string(getpid());
    mkdir(folder_.c_str(), 0755);
    path_.Add(folder_.c_str()).Add("/t.gputrace");
    file_.Reset();
  }
  ~OutputFileTest() override {
    for (const char* name : {"/t.gputrace", "/t.1.gputrace", "/other"})
      unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }
  static std::string Content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_;
  PathBuffer path_;
  OutputFile file_;
};

TEST_F(OutputFileTest, NeverOverwrites) {
  std::ofstream(path_.c_str()) << "mine";
  ASSERT_EQ(file_.Create(&path_), 0);
  EXPECT_EQ(std::string(path_.c_str()), folder_ + "/t.1.gputrace");
  EXPECT_EQ(Content(folder_ + "/t.gputrace"), "mine");
}

TEST_F(OutputFileTest, AppendsAndReadsBack) {
  ASSERT_EQ(file_.Create(&path_), 0);
  EXPECT_EQ(file_.Append("abc", 3), 0);
  EXPECT_EQ(file_.Append("def", 3), 0);
  EXPECT_EQ(file_.size(), 6u);
  char text[7] = {};
  EXPECT_EQ(file_.ReadAt(2, text, 3), 3);
  EXPECT_STREQ(text, "cde");
}

TEST_F(OutputFileTest, SaysWhyItCannotBeCreated) {
  PathBuffer path;
  path.Add("/nonexistent/t.gputrace");
  EXPECT_EQ(file_.Create(&path), -ENOENT);
  EXPECT_FALSE(file_.is_open());
}

// A program that closes descriptors it does not own, and gets the number for a file of its own.
TEST_F(OutputFileTest, DoesNotWriteIntoTheProgramsFiles) {
  ASSERT_EQ(file_.Create(&path_), 0);
  const int ours = 512;
  ASSERT_EQ(fcntl(ours, F_GETFD) != -1, true) << "the trace is kept away from low numbers";
  const std::string other = folder_ + "/other";
  const int theirs = open(other.c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(dup2(theirs, ours), ours);
  EXPECT_EQ(file_.Append("trace", 5), 0);
  EXPECT_EQ(Content(other), "");
  EXPECT_EQ(Content(path_.c_str()), "trace") << "the trace is opened again by its name";
  close(ours);
  close(theirs);
}

TEST_F(OutputFileTest, ATraceThatIsGoneIsAnErrorNotANewFile) {
  ASSERT_EQ(file_.Create(&path_), 0);
  close(512);
  unlink(path_.c_str());
  EXPECT_LT(file_.Append("trace", 5), 0);
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace gputrace::interpose
