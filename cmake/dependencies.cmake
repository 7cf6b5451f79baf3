# SPDX-License-Identifier: Apache-2.0
# What scripts/bootstrap has prepared, as targets. docs/dependencies.md says what each is for.
if(DEFINED ENV{GPUTRACE_CACHE})
  set(GPUTRACE_CACHE $ENV{GPUTRACE_CACHE})
else()
  set(GPUTRACE_CACHE $ENV{HOME}/.cache/gputrace)
endif()
if(NOT EXISTS ${GPUTRACE_CACHE}/third_party/zstd/done)
  message(FATAL_ERROR "run scripts/bootstrap first: ${GPUTRACE_CACHE} lacks the third-party builds")
endif()

find_package(absl REQUIRED)
find_package(nlohmann_json REQUIRED)
# Debian's package files lead to the shared libraries; the archives are beside them.
if(NOT GPUTRACE_SANITIZE)
  get_directory_property(imported IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^absl::")
  foreach(target IN LISTS imported)
    get_target_property(shared ${target} IMPORTED_LOCATION_NONE)
    if(shared)
      string(REGEX REPLACE "\\.so\\..*$" ".a" archive ${shared})
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE ${archive})
    endif()
  endforeach()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# CUDA's driver API header, of the newest version that the driver table knows.
add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE ${GPUTRACE_CACHE}/cuda-include)

# Position-independent, hidden builds for libgputrace.so; the analyzer uses the same zstd.
function(add_third_party target name library)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(
    ${target} PROPERTIES IMPORTED_LOCATION ${GPUTRACE_CACHE}/third_party/${name}/lib/${library}
                         INTERFACE_INCLUDE_DIRECTORIES ${GPUTRACE_CACHE}/third_party/${name}/include)
endfunction()
add_third_party(thirdparty_unwind libunwind libunwind.a)
add_third_party(thirdparty_zstd_pic zstd libzstd.a)

# For everything that is linked into libgputrace.so.
add_library(glibc_compat INTERFACE)
target_compile_options(
  glibc_compat INTERFACE "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/glibc_compat.h")

function(add_elf_library target library)
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${library} ${ARGN})
endfunction()
# Archives, so that the command line tool needs no shared library at all.
if(GPUTRACE_SANITIZE)
  add_elf_library(elfutils dw elf)
else()
  add_elf_library(elfutils libdw.a libelf.a libz.a libbz2.a liblzma.a)
endif()
