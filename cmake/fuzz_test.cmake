# fuzz_test.cmake: builds tests/fuzz/TARGET.cpp with libFuzzer, ASan and UBSan, by the clang COMPILER and the flags in the file
# FLAGS, and runs it for 600 seconds, or as many as the environment's TOKAMAX_FUZZ_SECONDS. Works in the folder WORK.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(seconds 600)
if(DEFINED ENV{TOKAMAX_FUZZ_SECONDS})
  set(seconds $ENV{TOKAMAX_FUZZ_SECONDS})
endif()
file(MAKE_DIRECTORY ${WORK}/corpus)
file(WRITE ${WORK}/probe.cpp "extern \"C\" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }\n")
set(compile ${COMPILER} -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -g1 -O1)
execute_process(COMMAND ${compile} ${WORK}/probe.cpp -o ${WORK}/probe RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(NOT code EQUAL 0)
  message("skipped: no clang with libFuzzer (${COMPILER})")
  return()
endif()
set(libraries "")
if(${TARGET} MATCHES "^(tokenizer|chat_template|sentencepiece|gguf)$")
  set(libraries -lpcre2-8 -lutf8proc)
endif()
execute_process(COMMAND ${compile} @${FLAGS} ${root}/tests/fuzz/${TARGET}.cpp -o ${WORK}/${TARGET} ${libraries}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/${TARGET} -max_total_time=${seconds} -max_len=4096 -timeout=10 -rss_limit_mb=2000
                        -print_final_stats=1 -artifact_prefix=${WORK}/ ${WORK}/corpus ${root}/tests/fuzz/${TARGET}
                WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
