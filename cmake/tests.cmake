# tests.cmake: one test program per folder of tests/, and the projects that use tokamax from outside.

file(GLOB support CONFIGURE_DEPENDS tests/support/*.cpp)
add_library(tokamax_test_main STATIC ${support})
target_include_directories(tokamax_test_main PUBLIC tests)
target_link_libraries(tokamax_test_main PUBLIC tokamax::tokamax tokamax_warnings Catch2::Catch2)
target_compile_options(tokamax_test_main PUBLIC -Og -UNDEBUG)  # it compiles in three quarters of the time of -O1
target_compile_definitions(tokamax_test_main PUBLIC TOKAMAX_ROOT="${PROJECT_SOURCE_DIR}")  # where tests/golden/ is
target_link_libraries(tokamax_test_main PUBLIC tokamax::cuda)
list(GET tokamax_compilers 0 first)
set_source_files_properties(tests/compiler/text/loop_text.cpp tests/support/fake_cuda.cpp PROPERTIES COMPILE_DEFINITIONS
  "TOKAMAX_TEST_COMPILER=\"${tokamax_compiler_${first}}\";TOKAMAX_TEST_FLAGS=\"${tokamax_flags_${first}}\"")

file(GLOB_RECURSE sources RELATIVE ${PROJECT_SOURCE_DIR}/tests CONFIGURE_DEPENDS tests/*.cpp)
list(FILTER sources EXCLUDE REGEX "\\.fail\\.cpp$|^(support|consumer|odr|fuzz|storm)/")
if(NOT TARGET tokamax::onednn)
  list(FILTER sources EXCLUDE REGEX "^backend/onednn/")
endif()
if(NOT TARGET tokamax::xbyak)
  message(STATUS "tests of machine code are left out: no Xbyak")
  list(FILTER sources EXCLUDE REGEX "^backend/xbyak/")
endif()
if(NOT TARGET tokamax::text)
  list(FILTER sources EXCLUDE REGEX "^(text|serve)/")
endif()
if(NOT TARGET tokamax::http)
  list(FILTER sources EXCLUDE REGEX "^serve/http/")
endif()
if(NOT TARGET tokamax::zstd)
  message(STATUS "tests of compressed files are left out: no libzstd")
  list(FILTER sources EXCLUDE REGEX "^zstd/")
endif()
foreach(source IN LISTS sources)
  string(REGEX REPLACE "/.*" "" folder ${source})
  list(APPEND folders ${folder})
  list(APPEND sources_of_${folder} tests/${source})
endforeach()
list(REMOVE_DUPLICATES folders)
set(catch_folders "$<FILTER:$<TARGET_PROPERTY:Catch2::Catch2,INTERFACE_INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/flags.tests CONTENT
     "@${tokamax_flags_g++}\n-DTOKAMAX_ROOT=\\\"\\\"\n$<$<BOOL:${catch_folders}>:-isystem\n$<JOIN:${catch_folders},\n-isystem\n>\n>")
# The precompiled header of all folders but base: a target of its own, so that one folder can be built without another.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// what a precompiled header is made for\n")
add_library(tokamax_test_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
target_link_libraries(tokamax_test_precompiled PRIVATE tokamax_test_main)
target_precompile_headers(tokamax_test_precompiled PRIVATE tests/support/catch.hpp include/tokamax/tokamax.hpp
                           include/tokamax/kernel.hpp include/tokamax/numpy.hpp include/tokamax/ops.hpp)
foreach(folder IN LISTS folders)
  add_executable(tokamax_test_${folder} ${sources_of_${folder}})
  target_link_libraries(tokamax_test_${folder} PRIVATE tokamax_test_main)
  if(folder MATCHES "^(base|serve|text)$")  # these tests see what they include and no more: their own names may be names of tokamax
    target_precompile_headers(tokamax_test_${folder} PRIVATE tests/support/catch.hpp)
  else()
    target_precompile_headers(tokamax_test_${folder} REUSE_FROM tokamax_test_precompiled)
  endif()
  add_test(NAME unit.${folder} COMMAND tokamax_test_${folder} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT TOKAMAX_SANITIZE)
    add_test(NAME tests_alone.${folder} COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DCOMPILER=${CMAKE_CXX_COMPILER}
             -DFLAGS=${PROJECT_BINARY_DIR}/flags.tests -P ${scripts}/tests_alone.cmake)
    set_tests_properties(tests_alone.${folder} PROPERTIES LABELS slow)
  endif()
endforeach()

# It compares the time of code in headers with that of the library.
set_source_files_properties(tests/kernel/check/check_kernel.cpp PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)

foreach(folder IN ITEMS base linalg nn optim scipy transforms)
  if(TARGET tokamax_test_${folder})
    target_link_libraries(tokamax_test_${folder} PRIVATE tokamax::linalg)
  endif()
endforeach()

# The contracts of ops, the reference values and the transformations once more, on a device whose memory the host cannot touch.
foreach(folder IN ITEMS complex lax linalg numpy ops optim transforms)
  add_test(NAME far.${folder} COMMAND tokamax_test_${folder} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(far.${folder} PROPERTIES ENVIRONMENT TOKAMAX_TEST_DEVICE=far)
endforeach()

# NVRTC and the other libraries of a toolkit are looked for where CMake has found one, unless the variable says otherwise.
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND AND NOT DEFINED ENV{CUDA_HOME})
  set_tests_properties(unit.backend PROPERTIES ENVIRONMENT CUDA_HOME=${CUDAToolkit_LIBRARY_ROOT})
endif()

foreach(library IN ITEMS onednn xbyak)
  if(TARGET tokamax::${library})
    target_link_libraries(tokamax_test_backend PRIVATE tokamax::${library})
  endif()
endforeach()
if(TARGET tokamax_test_zstd)
  target_link_libraries(tokamax_test_zstd PRIVATE tokamax::zstd)
  find_program(TOKAMAX_PYTHON NAMES python3 python DOC "Python that may have Orbax and array_record, for the test interchange")
  add_test(NAME interchange COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:tokamax_test_zstd> -DPYTHON=${TOKAMAX_PYTHON}
           -DWORK=${PROJECT_BINARY_DIR}/interchange -P ${scripts}/interchange_test.cmake)
  set_tests_properties(interchange PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no Python")
endif()
if(TARGET tokamax_test_stablehlo)
  target_link_libraries(tokamax_test_stablehlo PRIVATE tokamax::stablehlo)
  add_test(NAME stablehlo.xla COMMAND ${CMAKE_COMMAND} -DTEST=$<TARGET_FILE:tokamax_test_stablehlo>
           -DWORK=${PROJECT_BINARY_DIR}/stablehlo_xla -P ${scripts}/stablehlo_xla_test.cmake)
  set_tests_properties(stablehlo.xla PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
endif()
foreach(folder IN ITEMS text serve)
  if(TARGET tokamax_test_${folder})
    target_link_libraries(tokamax_test_${folder} PRIVATE tokamax::text)
  endif()
endforeach()
if(TARGET tokamax_test_serve AND TARGET tokamax::http)
  target_link_libraries(tokamax_test_serve PRIVATE tokamax::http)
endif()

if(EXISTS ${PROJECT_SOURCE_DIR}/include/tokamax/tokamax.hpp)
  add_executable(tokamax_test_odr tests/odr/one.cpp tests/odr/two.cpp)  # without the kernel library
  target_link_libraries(tokamax_test_odr PRIVATE tokamax::headers nlohmann_json::nlohmann_json tokamax_warnings)
  target_compile_options(tokamax_test_odr PRIVATE -Og)
  add_test(NAME two_files_link COMMAND tokamax_test_odr)
  add_executable(tokamax_test_lax_only tests/odr/lax_only.cpp)  # the same, and no backend
  target_link_libraries(tokamax_test_lax_only PRIVATE tokamax::headers tokamax_warnings)
  add_test(NAME lax_links_alone COMMAND tokamax_test_lax_only)
  add_executable(tokamax_arrays tests/consumer/arrays.cpp)
  target_link_libraries(tokamax_arrays PRIVATE tokamax::headers tokamax_warnings)
  target_compile_options(tokamax_arrays PRIVATE -O0 -g)
  add_test(NAME gdb COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:tokamax_arrays> -P ${scripts}/gdb_test.cmake)
  set_tests_properties(gdb PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
  add_executable(tokamax_gpu tests/consumer/gpu.cpp)
  target_link_libraries(tokamax_gpu PRIVATE tokamax::cuda tokamax_warnings)
  target_compile_options(tokamax_gpu PRIVATE -O0)
  add_test(NAME gpu_is_missing COMMAND tokamax_gpu)
  set_tests_properties(gpu_is_missing PROPERTIES ENVIRONMENT TOKAMAX_CUDA_DRIVER=/none/libcuda.so
                       PASS_REGULAR_EXPRESSION "^4950\ncuda:0: no driver: /none/libcuda.so")
  if(TARGET CUDA::nvrtc AND NOT TOKAMAX_SANITIZE)
    tokamax_cuda_precompile(tokamax_gpu ARCHITECTURES sm_80 sm_90a)
    add_test(NAME gpu_code_is_shipped COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:tokamax_gpu>
             -DARCHITECTURES=sm_80,sm_90a -P ${scripts}/cuda_precompile_test.cmake)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    add_test(NAME march COMMAND ${CMAKE_COMMAND} -DCXX=${CMAKE_CXX_COMPILER} -DAR=${CMAKE_AR} -DWORK=${PROJECT_BINARY_DIR}/march
             -P ${scripts}/march_test.cmake)
  endif()
  if(NOT TOKAMAX_SANITIZE)
    add_test(NAME package.cmake COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DCXX=${CMAKE_CXX_COMPILER}
             -P ${scripts}/consumer_test.cmake)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      add_test(NAME package.makefile COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DCXX=${CMAKE_CXX_COMPILER}
               -P ${scripts}/makefile_test.cmake)
    endif()
    add_test(NAME package.conan COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
             -DCXX=${CMAKE_CXX_COMPILER} -P ${scripts}/conan_test.cmake)
    set_tests_properties(package.conan PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:" COST 300)
    set_tests_properties(package.cmake PROPERTIES COST 400)  # the longest start first
    set_tests_properties(unit.backend PROPERTIES COST 500)
  endif()
endif()
