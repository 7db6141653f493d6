# chat_test.cmake: the program CHAT answers as SmolLM2 does, from the folder MODELS that real_models.cmake has filled, and says what is
# wrong with its options.
cmake_minimum_required(VERSION 3.25)
function(expect code text)  # arguments...
  execute_process(COMMAND ${CHAT} ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT found EQUAL code OR NOT "${out}${err}" MATCHES "${text}")
    message(FATAL_ERROR "tokamax_chat ${ARGN}: found ${found}: ${out}${err}\nexpected ${code}: ${text}")
  endif()
endfunction()

expect(1 "tokamax_chat: .*none.gguf" none.gguf --prompt hello)
expect(1 "--max-tokens: found 0, expected 1 or more" none.gguf --prompt hello --max-tokens 0)
expect(1 "--weights: int5 not in" none.gguf --prompt hello --weights int5)
if(NOT MODELS)
  message("skipped: no TOKAMAX_REAL_MODELS, see cmake/real_models.cmake")
  return()
endif()
set(model ${MODELS}/SmolLM2-135M-Instruct.Q4_1.gguf)
expect(0 "^The capital of France is Paris.\n$" ${model} --prompt "What is the capital of France?")
expect(0 "^The capital of France\n$" ${model} --prompt "What is the capital of France?" --max-tokens 4)
expect(0 "^The capital of France is Paris.\n$" ${model} --prompt "What is the capital of France?" --bf16 --threads 1)
expect(0 "^1. Whales are mammals" ${model} --prompt "Tell me three facts about whales." --max-tokens 8 --weights int8)
expect(1 "--device: found 'moon'" ${model} --prompt hello --device moon)
