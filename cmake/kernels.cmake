# kernels.cmake: the library of kernels and passes. A program compiles it once, instead of compiling them in each of its files.
# Installed: find_package(tokamax) reads it too, so the library is built by its user, with the user's compiler and flags, unless
# the package brings a compiled one that fits them.

option(TOKAMAX_HEADER_ONLY "Link no library: every file compiles the kernels that it uses" OFF)

# Lets users of `core` link the library, compiled with what `headers` asks for.
function(tokamax_link_kernels core headers)
  if(TOKAMAX_HEADER_ONLY)
    return()
  endif()
  if(NOT TARGET tokamax_kernels)
    set(sources "")
    foreach(part IN ITEMS RULES GRAPH REDUCE PRODUCTS ROWS MOVEMENT ELEMENTWISE GEMM_AVX512 GEMM_AVX2 GEMM_AMX)  # long first
      set(header execute)
      if(part MATCHES "^GEMM_")
        set(header gemm/dispatch)
      endif()
      string(TOLOWER ${part} name)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/tokamax_kernels/${name}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT [[
#define TOKAMAX_INSTANTIATE_KERNELS
#define TOKAMAX_KERNELS_PART TOKAMAX_PART_@part@
#include <tokamax/backend/cpu/@header@.hpp>
]] @ONLY)
      list(APPEND sources ${source})
      if(part MATCHES "RULES|GRAPH" AND NOT TOKAMAX_SANITIZE)  # they hold no loops over elements
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O2)
      endif()
    endforeach()
    if(TARGET tokamax::xbyak)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/tokamax_kernels/xbyak.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT [[
#define TOKAMAX_INSTANTIATE_KERNELS
#define TOKAMAX_KERNELS_PART TOKAMAX_PART_XBYAK
#include <tokamax/backend/xbyak/loop.hpp>
]] @ONLY)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O2)  # it holds no loops over elements
      list(APPEND sources ${source})
    endif()
    add_library(tokamax_kernels STATIC EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(tokamax_kernels PRIVATE ${headers})
    if(TARGET tokamax::xbyak)
      target_link_libraries(tokamax_kernels PRIVATE tokamax::xbyak)
      target_compile_definitions(tokamax_kernels PRIVATE TOKAMAX_XBYAK)
    endif()
    set_target_properties(tokamax_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
    if(TOKAMAX_SANITIZE)
      target_compile_options(tokamax_kernels PRIVATE -O1)
    else()
      target_compile_options(tokamax_kernels PRIVATE $<$<NOT:$<CONFIG:Release>>:-O2>)  # in Debug too: it does the work
    endif()
  endif()
  target_compile_definitions(${core} INTERFACE $<BUILD_INTERFACE:TOKAMAX_SEPARATE_KERNELS>)
  target_link_libraries(${core} INTERFACE $<BUILD_INTERFACE:tokamax_kernels>)
endfunction()

# The same for users of `checkpoint`: the library of file formats, which needs the JSON library that `checkpoint` links.
function(tokamax_link_files checkpoint headers)
  if(TOKAMAX_HEADER_ONLY)
    return()
  endif()
  if(NOT TARGET tokamax_files)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/tokamax_kernels/files.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT [[
#define TOKAMAX_INSTANTIATE_KERNELS
#define TOKAMAX_KERNELS_PART TOKAMAX_PART_FILES
#include <tokamax/checkpoint.hpp>
]] @ONLY)
    add_library(tokamax_files STATIC EXCLUDE_FROM_ALL ${source})
    target_link_libraries(tokamax_files PRIVATE ${headers} nlohmann_json::nlohmann_json)
    set_target_properties(tokamax_files PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(tokamax_files PRIVATE -O1)  # it reads and writes files, and has no other loops
  endif()
  target_compile_definitions(${checkpoint} INTERFACE $<BUILD_INTERFACE:TOKAMAX_SEPARATE_FILES>)
  target_link_libraries(${checkpoint} INTERFACE $<BUILD_INTERFACE:tokamax_files>)
endfunction()

# The same for users of `linalg`: decompositions by Eigen, which take long to compile and few programs need.
function(tokamax_link_linalg linalg headers)
  if(TOKAMAX_HEADER_ONLY)  # a program then includes backend/eigen/linalg.hpp in one of its files
    return()
  endif()
  if(NOT TARGET tokamax_linalg_functions)
    set(sources "")
    foreach(name IN ITEMS spectra factors)  # long first
      set(source ${CMAKE_CURRENT_BINARY_DIR}/tokamax_kernels/linalg_${name}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT [[
#define TOKAMAX_INSTANTIATE_KERNELS
#define TOKAMAX_KERNELS_PART TOKAMAX_PART_LINALG
#include <tokamax/backend/eigen/linalg/@name@.hpp>
]] @ONLY)
      list(APPEND sources ${source})
    endforeach()
    add_library(tokamax_linalg_functions STATIC EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(tokamax_linalg_functions PRIVATE ${headers})
    set_target_properties(tokamax_linalg_functions PROPERTIES POSITION_INDEPENDENT_CODE ON)
    if(TOKAMAX_SANITIZE)
      target_compile_options(tokamax_linalg_functions PRIVATE -O1)
    else()
      target_compile_options(tokamax_linalg_functions PRIVATE $<$<NOT:$<CONFIG:Release>>:-O2>)
    endif()
  endif()
  target_link_libraries(${linalg} INTERFACE $<BUILD_INTERFACE:tokamax_linalg_functions>)
endfunction()

# The same for users of `cuda`: the host's part of the GPU backend. A program compiles about as long as for the CPU then.
function(tokamax_link_cuda cuda headers)
  if(TOKAMAX_HEADER_ONLY)
    return()
  endif()
  if(NOT TARGET tokamax_cuda_backend)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/tokamax_kernels/cuda.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT [[
#define TOKAMAX_INSTANTIATE_KERNELS
#define TOKAMAX_KERNELS_PART TOKAMAX_PART_CUDA
#include <tokamax/backend/cuda/execute.hpp>
]] @ONLY)
    add_library(tokamax_cuda_backend STATIC EXCLUDE_FROM_ALL ${source})
    target_link_libraries(tokamax_cuda_backend PRIVATE ${headers} INTERFACE tokamax_kernels)
    set_target_properties(tokamax_cuda_backend PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(tokamax_cuda_backend PRIVATE -O2)  # it launches kernels, and has no loops over elements
  endif()
  target_compile_definitions(${cuda} INTERFACE $<BUILD_INTERFACE:TOKAMAX_SEPARATE_CUDA>)
  target_link_libraries(${cuda} INTERFACE $<BUILD_INTERFACE:tokamax_cuda_backend>)
endfunction()
