// SPDX-License-Identifier: Apache-2.0
// usage: truth_play PROGRAM            plays a program
//        truth_play --make SEED STEPS  prints a random one
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/truth/generator.h"
#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

Player* g_player = nullptr;

[[gnu::destructor]] void FreeLate() {
  if (g_player != nullptr) g_player->FreeSome();
}

}  // namespace
}  // namespace gputrace::truth

int main(int count, char** arguments) {
  using namespace gputrace::truth;
  if (count == 4 && strcmp(arguments[1], "--make") == 0) {
    const Program made =
        Generate(strtoull(arguments[2], nullptr, 10), strtoull(arguments[3], nullptr, 10));
    fputs(Print(made).c_str(), stdout);
    return 0;
  }
  if (count != 2) return 2;
  std::ifstream file(arguments[1]);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  static Program program;
  std::string error;
  if (!file || !Parse(text, &program, &error)) {
    fprintf(stderr, "truth_play: %s: %s\n", arguments[1], error.c_str());
    return 2;
  }
  g_player = new Player(program);
  g_player->Play();
  return 0;
}
