# programs.cmake: this tree's own tests, examples, benchmarks and programs, found by their file names.
enable_testing()
set(scripts ${PROJECT_SOURCE_DIR}/cmake)

add_library(tokamax_warnings INTERFACE)
target_compile_options(tokamax_warnings INTERFACE -Wall -Wextra -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)  # they see what is not there
  target_compile_options(tokamax_warnings INTERFACE -Wno-dangling-reference -Wno-array-bounds)
endif()
if(NOT TOKAMAX_SANITIZE)  # sanitized code makes g++ warn of values that are never uninitialized
  target_compile_options(tokamax_warnings INTERFACE -Werror)
endif()

function(tokamax_program name)  # name, sources...
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE tokamax::tokamax tokamax_warnings)
endfunction()

if(TOKAMAX_BUILD_TESTS)
  include(cmake/checks.cmake)
  include(cmake/tests.cmake)
endif()

if(TOKAMAX_BUILD_EXAMPLES)
  file(GLOB examples CONFIGURE_DEPENDS examples/[0-9][0-9]_*.cpp)
  foreach(source IN LISTS examples)
    cmake_path(GET source STEM name)
    file(STRINGS ${source} tokenizers REGEX "#include <tokamax/text" LIMIT_COUNT 1)
    if(tokenizers AND NOT TARGET tokamax::text)
      continue()
    endif()
    tokamax_program(example_${name} ${source})
    if(TOKAMAX_BUILD_TESTS)  # half the time of a compilation, and the library of kernels does the work
      target_compile_options(example_${name} PRIVATE -Og)
    endif()
    file(STRINGS ${source} algebra REGEX "#include <tokamax/(linalg|scipy)" LIMIT_COUNT 1)
    if(algebra)
      target_link_libraries(example_${name} PRIVATE tokamax::linalg)
    endif()
    if(tokenizers)
      target_link_libraries(example_${name} PRIVATE tokamax::text)
    endif()
    file(STRINGS ${source} devices REGEX "#include <tokamax/train/device_named" LIMIT_COUNT 1)
    if(devices)
      target_link_libraries(example_${name} PRIVATE tokamax::cuda)
    endif()
    if(TOKAMAX_BUILD_TESTS)
      file(STRINGS ${source} calls REGEX "tk::jit\\(" LIMIT_COUNT 1)
      if(calls)  # one build for both: what the example prints, and that static = run time = eager in its first calls
        target_compile_options(example_${name} PRIVATE -include ${PROJECT_SOURCE_DIR}/tests/support/three_ways.hpp)
      endif()
      add_test(NAME example.${name} COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:example_${name}>
               -DEXPECTED=${PROJECT_SOURCE_DIR}/examples/${name}.expected -P ${scripts}/run_example.cmake)
    endif()
  endforeach()
endif()

if(TOKAMAX_BUILD_EXAMPLES)
  file(GLOB cookbook CONFIGURE_DEPENDS examples/cookbook/*.cpp)
  tokamax_program(example_cookbook ${cookbook})
  target_link_libraries(example_cookbook PRIVATE tokamax::linalg)  # orthogonal initial values of its recurrent network
  if(TOKAMAX_BUILD_TESTS)
    target_compile_options(example_cookbook PRIVATE -Og)
    add_test(NAME example.cookbook COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:example_cookbook>
             -DEXPECTED=${PROJECT_SOURCE_DIR}/examples/cookbook/cookbook.expected -P ${scripts}/run_example.cmake)
  endif()
  add_executable(example_from_scratch examples/from_scratch.cpp)  # it includes nothing of tokamax, so it links nothing of it
  target_compile_features(example_from_scratch PRIVATE cxx_std_20)
  target_link_libraries(example_from_scratch PRIVATE tokamax_warnings)
  if(TOKAMAX_BUILD_TESTS)
    add_test(NAME example.from_scratch COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:example_from_scratch>
             -DEXPECTED=${PROJECT_SOURCE_DIR}/examples/from_scratch.expected -P ${scripts}/run_example.cmake)
  endif()
endif()

file(GLOB app CONFIGURE_DEPENDS examples/tokamax_train.cpp)
if(TOKAMAX_BUILD_APPS AND app)
  tokamax_program(tokamax_train ${app})
  target_link_libraries(tokamax_train PRIVATE CLI11::CLI11 tokamax::cuda)
  if(TOKAMAX_BUILD_TESTS)
    set(TOKAMAX_TINYSHAKESPEARE "$ENV{TOKAMAX_TINYSHAKESPEARE}" CACHE FILEPATH "Tiny Shakespeare, for the test train.published_gpt")
    foreach(test IN ITEMS resume trainer published_gpt)
      add_test(NAME train.${test} COMMAND ${CMAKE_COMMAND} -DTRAINER=$<TARGET_FILE:tokamax_train>
               -DWORK=${PROJECT_BINARY_DIR}/train_${test} -DTEXT=${TOKAMAX_TINYSHAKESPEARE}
               -P ${scripts}/${test}_test.cmake)
    endforeach()
    set_tests_properties(train.published_gpt PROPERTIES LABELS slow SKIP_REGULAR_EXPRESSION "skipped:" RUN_SERIAL ON)
    list(GET tokamax_compilers 0 first)
    foreach(storm IN ITEMS faults kills)
      add_test(NAME train.${storm} COMMAND ${CMAKE_COMMAND} -DTRAINER=$<TARGET_FILE:tokamax_train> -DSTORM=${storm}
               -DWORK=${PROJECT_BINARY_DIR}/train_${storm} -DCOMPILER=${tokamax_compiler_${first}}
               -DFLAGS=${tokamax_flags_${first}} -P ${scripts}/storm_test.cmake)
      set_tests_properties(train.${storm} PROPERTIES LABELS slow TIMEOUT 7200)
    endforeach()
    set(fuzzers safetensors metadata vocabulary options data_files)
    if(TARGET tokamax::zstd)
      list(APPEND fuzzers orbax)
    endif()
    if(TARGET tokamax::text)
      list(APPEND fuzzers tokenizer chat_template sentencepiece gguf model)
    endif()
    foreach(target IN LISTS fuzzers)
      add_test(NAME fuzz.${target} COMMAND ${CMAKE_COMMAND} -DTARGET=${target} -DWORK=${PROJECT_BINARY_DIR}/fuzz_${target}
               -DCOMPILER=${TOKAMAX_CLANG} -DFLAGS=${tokamax_flags_clang++} -P ${scripts}/fuzz_test.cmake)
      set_tests_properties(fuzz.${target} PROPERTIES LABELS slow SKIP_REGULAR_EXPRESSION "skipped:" TIMEOUT 3600)
    endforeach()
  endif()
endif()

file(GLOB app CONFIGURE_DEPENDS examples/tokamax_chat.cpp)
if(TOKAMAX_BUILD_APPS AND app AND TARGET tokamax::text)
  tokamax_program(tokamax_chat ${app})
  target_link_libraries(tokamax_chat PRIVATE CLI11::CLI11 tokamax::cuda tokamax::text)
  tokamax_program(tokamax_embed examples/tokamax_embed.cpp)
  target_link_libraries(tokamax_embed PRIVATE CLI11::CLI11 tokamax::text)
  if(TOKAMAX_BUILD_TESTS)
    set(TOKAMAX_REAL_MODELS "$ENV{TOKAMAX_REAL_MODELS}" CACHE PATH "Folder that cmake/real_models.cmake has filled, for the tests models.*")
    add_test(NAME models.chat COMMAND ${CMAKE_COMMAND} -DCHAT=$<TARGET_FILE:tokamax_chat> -DMODELS=${TOKAMAX_REAL_MODELS}
             -P ${scripts}/chat_test.cmake)
    add_test(NAME models.embed COMMAND ${CMAKE_COMMAND} -DEMBED=$<TARGET_FILE:tokamax_embed> -DMODELS=${TOKAMAX_REAL_MODELS}
             -P ${scripts}/embed_test.cmake)
    set_tests_properties(models.chat models.embed PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
    if(TOKAMAX_REAL_MODELS)
      add_test(NAME models.real COMMAND tokamax_test_models "[real]")
      set_tests_properties(models.real PROPERTIES LABELS slow ENVIRONMENT TOKAMAX_REAL_MODELS=${TOKAMAX_REAL_MODELS})
    endif()
  endif()
endif()

if(TOKAMAX_BUILD_BENCH)
  include(cmake/benches.cmake)
endif()
