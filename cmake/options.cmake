# SPDX-License-Identifier: Apache-2.0
# How everything is compiled.
set(GPUTRACE_SANITIZE "" CACHE STRING "Value for -fsanitize=, or empty")
option(GPUTRACE_FUZZ "Build the fuzz targets (clang)" OFF)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Line tables are enough for symbolising ourselves, and half as dear to compile as all of DWARF.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
if(GPUTRACE_SANITIZE)
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
endif()

add_compile_options(
  -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-align -Wformat=2 -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  # Packages are found whatever the folder is called: no build path gets into what is built.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

if(GPUTRACE_SANITIZE)
  add_compile_options(-fsanitize=${GPUTRACE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GPUTRACE_SANITIZE})
endif()
