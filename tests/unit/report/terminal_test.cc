// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace gputrace::report {
namespace {

// Each test has a terminal of 120 columns and a pipe, and sets the environment as it needs.
class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
    setenv("TERM", "xterm-256color", 1);
    ASSERT_EQ(openpty(&master_, &slave_, nullptr, nullptr, nullptr), 0);
    ASSERT_EQ(pipe(pipe_), 0);
    Resize(120);
  }
  void TearDown() override {
    for (const int fd : {master_, slave_, pipe_[0], pipe_[1]}) close(fd);
  }
  void Resize(unsigned short columns) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    ASSERT_EQ(ioctl(slave_, TIOCSWINSZ, &size), 0);
  }
  int terminal() const { return slave_; }
  int no_terminal() const { return pipe_[1]; }

 private:
  int master_ = -1;
  int slave_ = -1;
  int pipe_[2] = {-1, -1};
};

TEST_F(TerminalTest, ColoursATerminalOnly) {
  EXPECT_TRUE(Terminal::Of(terminal(), ColorMode::kAuto).color());
  EXPECT_FALSE(Terminal::Of(no_terminal(), ColorMode::kAuto).color());
  EXPECT_TRUE(Terminal::Of(terminal(), ColorMode::kAuto).is_terminal());
  EXPECT_FALSE(Terminal::Of(no_terminal(), ColorMode::kAlways).is_terminal());
}

TEST_F(TerminalTest, HonoursNoColorUnlessItIsEmpty) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(Terminal::Of(terminal(), ColorMode::kAuto).color());
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(Terminal::Of(terminal(), ColorMode::kAuto).color());
}

TEST_F(TerminalTest, TheFlagWinsOverTheEnvironment) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(Terminal::Of(no_terminal(), ColorMode::kAlways).color());
  unsetenv("NO_COLOR");
  EXPECT_FALSE(Terminal::Of(terminal(), ColorMode::kNever).color());
}

TEST_F(TerminalTest, DoesNotColourADumbTerminal) {
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(Terminal::Of(terminal(), ColorMode::kAuto).color());
}

TEST_F(TerminalTest, KnowsTheWidth) {
  EXPECT_EQ(Terminal::Of(terminal(), ColorMode::kAuto).width(), 120);
  EXPECT_EQ(Terminal::Of(no_terminal(), ColorMode::kAuto).width(), Terminal::kDefaultWidth);
  setenv("COLUMNS", "77", 1);
  EXPECT_EQ(Terminal::Of(no_terminal(), ColorMode::kAuto).width(), 77);
  EXPECT_EQ(Terminal::Of(terminal(), ColorMode::kAuto).width(), 120);
}

TEST_F(TerminalTest, RefusesWidthsThatNothingFits) {
  Resize(3);
  EXPECT_EQ(Terminal::Of(terminal(), ColorMode::kAuto).width(), Terminal::kMinimumWidth);
  for (const char* columns : {"5", "-3", "0", "wide"}) {
    setenv("COLUMNS", columns, 1);
    EXPECT_GE(Terminal::Of(no_terminal(), ColorMode::kAuto).width(), Terminal::kMinimumWidth)
        << columns;
  }
}

TEST_F(TerminalTest, AClosedDescriptorIsNoTerminal) {
  const Terminal closed = Terminal::Of(-1, ColorMode::kAuto);
  EXPECT_FALSE(closed.is_terminal());
  EXPECT_EQ(closed.width(), Terminal::kDefaultWidth);
}

TEST(Paint, EndsWhatItBegins) {
  EXPECT_EQ(Terminal(80, true, true).Paint(Style::kBad, "leak"), "\x1b[31mleak\x1b[0m");
  EXPECT_EQ(Terminal(80, true, true).Paint(Style::kPlain, "leak"), "leak");
  EXPECT_EQ(Terminal(80, true, true).Paint(Style::kBad, ""), "");
  EXPECT_EQ(Terminal(80, false, true).Paint(Style::kBad, "leak"), "leak");
}

TEST(ParseColorMode, KnowsThreeWords) {
  EXPECT_EQ(*ParseColorMode("auto"), ColorMode::kAuto);
  EXPECT_EQ(*ParseColorMode("always"), ColorMode::kAlways);
  EXPECT_EQ(*ParseColorMode("never"), ColorMode::kNever);
  EXPECT_EQ(ParseColorMode("yes").status().message(), "'yes' is not auto, always or never");
}

TEST(EscapeForTerminal, LeavesOrdinaryTextAlone) {
  for (const char* text :
       {"", "std::vector<int, a<b>>::push_back(int&&)", "/tmp/with space/füße.py", "训练.py",
        "🔥.cu", "C:\\path", "naïve e\u0301"}) {
    EXPECT_EQ(EscapeForTerminal(text), text);
  }
}

TEST(EscapeForTerminal, ShowsControlCharacters) {
  EXPECT_EQ(EscapeForTerminal("a\x1b[31mred"), "a\\x1b[31mred");
  EXPECT_EQ(EscapeForTerminal("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(EscapeForTerminal("one\ntwo\r\tthree\x7f"), "one\\ntwo\\r\\tthree\\x7f");
  EXPECT_EQ(EscapeForTerminal(std::string("nul\0!", 5)), "nul\\x00!");
  EXPECT_EQ(EscapeForTerminal("\u009b31m"), "\\u{9b}31m");
}

TEST(EscapeForTerminal, ShowsWhatHidesOrReorders) {
  EXPECT_EQ(EscapeForTerminal("a\u202eb"), "a\\u{202e}b");
  EXPECT_EQ(EscapeForTerminal("\u2066x\u2069"), "\\u{2066}x\\u{2069}");
  EXPECT_EQ(EscapeForTerminal("zero\u200bwidth"), "zero\\u{200b}width");
  EXPECT_EQ(EscapeForTerminal("line\u2028end"), "line\\u{2028}end");
  EXPECT_EQ(EscapeForTerminal("\ufeff"), "\\u{feff}");
  EXPECT_EQ(EscapeForTerminal("\U000e0041"), "\\u{e0041}");
}

TEST(EscapeForTerminal, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(EscapeForTerminal("\xff"), "\\xff");
  EXPECT_EQ(EscapeForTerminal("cut\xe2\x82"), "cut\\xe2\\x82");
  EXPECT_EQ(EscapeForTerminal("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(EscapeForTerminal("\xe0\x80\x80"), "\\xe0\\x80\\x80");           // overlong
  EXPECT_EQ(EscapeForTerminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(EscapeForTerminal("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(EscapeForTerminal("\x80tail"), "\\x80tail");
}

TEST(EscapeForTerminal, NothingUnsafeComesOutOfAnything) {
  std::string all;
  for (int high = 0; high < 256; ++high) {
    for (int low = 0; low < 256; ++low) {
      all += static_cast<char>(high);
      all += static_cast<char>(low);
    }
  }
  const std::string safe = EscapeForTerminal(all);
  for (const char c : safe) {
    EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
  }
  EXPECT_EQ(EscapeForTerminal(safe), safe);
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("füße"), 4u);
  EXPECT_EQ(DisplayWidth("训练"), 4u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);
  EXPECT_EQ(DisplayWidth("🔥"), 2u);
}

TEST(FitWidth, CutsWhereItIsTold) {
  EXPECT_EQ(FitWidth("abcdef", 6), "abcdef");
  EXPECT_EQ(FitWidth("abcdefg", 6), "abcde…");
  EXPECT_EQ(FitWidth("abcdefg", 6, Cut::kStart), "…cdefg");
  EXPECT_EQ(FitWidth("abcdefgh", 6, Cut::kMiddle), "abc…gh");
  EXPECT_EQ(FitWidth("abc", 1), "…");
  EXPECT_EQ(FitWidth("abc", 0), "");
}

TEST(FitWidth, NeverSplitsACharacter) {
  EXPECT_EQ(FitWidth("训练训练", 4), "训…");
  EXPECT_EQ(FitWidth("训练训练", 4, Cut::kStart), "…练");
  EXPECT_EQ(FitWidth("aae\u0301e\u0301", 3, Cut::kStart), "…e\u0301e\u0301");
  EXPECT_EQ(FitWidth("xxxe\u0301", 1, Cut::kStart), "…");
  for (size_t columns = 0; columns < 12; ++columns) {
    for (const Cut cut : {Cut::kStart, Cut::kMiddle, Cut::kEnd}) {
      EXPECT_LE(DisplayWidth(FitWidth("a训练ü🔥bcdefg", columns, cut)), columns);
    }
  }
}

TEST(Pad, FillsToColumns) {
  EXPECT_EQ(PadRight("ü", 3), "ü  ");
  EXPECT_EQ(PadLeft("训", 3), " 训");
  EXPECT_EQ(PadLeft("long", 2), "long");
}

}  // namespace
}  // namespace gputrace::report
