# setup.cmake: makes sure that the machine has all that tokamax needs. quickstart, test and bench include it and may add to
# `wanted`. It installs what is missing with apt-get if that needs no password, and otherwise says what to install.
# -DSETUP=OFF leaves the machine alone (CMakeLists.txt then finds or fetches each dependency).
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB; a compiler takes up to 2 GiB
math(EXPR most "${memory} / 2048 + 1")
if(jobs GREATER most)
  set(jobs ${most})
endif()

# Debian package, and the header or program that shows that it (or the same from elsewhere) is there
list(APPEND wanted libxsimd-dev xsimd/xsimd.hpp libeigen3-dev eigen3/Eigen/Dense libboost-dev boost/hana.hpp
     libfmt-dev fmt/format.h nlohmann-json3-dev nlohmann/json.hpp libcli11-dev CLI/CLI.hpp
     libpcre2-dev pcre2.h libutf8proc-dev utf8proc.h)

function(tokamax_setup)
  set(packages "")
  while(wanted)
    list(POP_FRONT wanted package header)
    find_path(folder_of_${package} ${header} HINTS ENV CPATH
              PATHS /usr/include /usr/local/include /opt/homebrew/include)
    if(NOT folder_of_${package})
      list(APPEND packages ${package})
    endif()
  endwhile()
  find_program(builder NAMES make gmake)
  if(NOT builder)
    list(APPEND packages make)
  endif()
  find_program(compiler NAMES $ENV{CXX} c++ g++ clang++)
  if(NOT compiler)
    list(APPEND packages g++)
  endif()
  if(NOT packages)
    return()
  endif()

  list(JOIN packages " " text)
  find_program(apt apt-get)
  find_program(sudo sudo)
  execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(as_root "")
  if(NOT user STREQUAL 0 AND sudo)
    set(as_root ${sudo} -n)
    execute_process(COMMAND ${as_root} true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  elseif(NOT user STREQUAL 0)
    set(refused 1)
  endif()
  if(NOT apt OR refused)
    message(FATAL_ERROR "Missing on this machine; please install (names of Debian and Ubuntu packages):\n"
                        "  apt-get install ${text}\nor let CMake fetch the libraries: add -DSETUP=OFF before -P")
  endif()
  message(STATUS "installing ${text}")
  set(install ${as_root} ${apt} install -y -qq --no-install-recommends ${packages})
  set(ENV{DEBIAN_FRONTEND} noninteractive)
  execute_process(COMMAND ${install} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)  # an old or absent package list
    execute_process(COMMAND ${as_root} ${apt} update -qq COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${install} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

if(NOT DEFINED SETUP OR SETUP)
  tokamax_setup()
endif()

# Configures the tree in `build`, with the compiler CXX if set; further arguments go to CMake.
function(tokamax_configure build)
  if(CXX)
    list(APPEND ARGN -DCMAKE_CXX_COMPILER=${CXX})
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${root} -B ${build} -DCMAKE_BUILD_TYPE=Release ${ARGN}
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Builds the targets named, or all.
function(tokamax_build build)
  set(targets "")
  if(ARGN)
    set(targets --target ${ARGN})
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} --parallel ${jobs} ${targets} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
