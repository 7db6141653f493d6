# flags.cmake: the compiler flags that every user of tokamax needs. Installed: find_package(tokamax) reads it too.

set(TOKAMAX_GNU_FLAGS -ffp-contract=off -fconstexpr-ops-limit=4000000000 -fconstexpr-loop-limit=100000000
                      -fconstexpr-depth=4096)
set(TOKAMAX_CLANG_FLAGS -ffp-contract=off -fconstexpr-steps=4000000000 -fconstexpr-depth=4096)
set(TOKAMAX_NVCC_FLAGS --expt-relaxed-constexpr -Xcudafe --max_cost_constexpr_call=2000000000
                       -DFMT_USE_CONSTEXPR=1 -DFMT_CONSTEVAL=)  # nvcc rejects the format checks of fmt 9

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(TOKAMAX_MARCH x86-64-v3 CACHE STRING "-march of code that includes tokamax: a CPU, native, x86-64-v2 (no AVX2), or empty")
else()
  set(TOKAMAX_MARCH "" CACHE STRING "-march of code that includes tokamax: a CPU, native, or empty")
endif()
if(NOT TOKAMAX_MARCH STREQUAL x86-64-v3)  # then base/requirements.hpp asks for no AVX2
  list(APPEND TOKAMAX_GNU_FLAGS -DTOKAMAX_ANY_X86)
  list(APPEND TOKAMAX_CLANG_FLAGS -DTOKAMAX_ANY_X86)
endif()
if(TOKAMAX_MARCH)
  list(APPEND TOKAMAX_GNU_FLAGS -march=${TOKAMAX_MARCH})
  list(APPEND TOKAMAX_CLANG_FLAGS -march=${TOKAMAX_MARCH})
endif()

# BUILD_INTERFACE keeps the flags out of the exported targets: an installed package computes its own.
function(tokamax_flags target)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_CXX_FLAGS MATCHES "-O")
    message(WARNING "tokamax: CMAKE_BUILD_TYPE is not set, so your own files are compiled without optimisation; "
                    "expected -DCMAKE_BUILD_TYPE=Release, or RelWithDebInfo")
  endif()
  target_compile_options(${target} INTERFACE
    "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${TOKAMAX_GNU_FLAGS}>>"
    "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:${TOKAMAX_CLANG_FLAGS}>>")
  if(NOT TARGET xtl)  # Debian's xsimd target links xtl, which it needs only where xtl is used
    set_target_properties(xsimd PROPERTIES INTERFACE_LINK_LIBRARIES "")
  endif()
endfunction()
