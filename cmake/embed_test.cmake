# embed_test.cmake: the program EMBED finds the line that is like a question, by the encoder in the folder MODELS that real_models.cmake has
# filled, and says what is wrong with its options. tests/golden/compare_minilm.py compares its numbers with those of `transformers`.
cmake_minimum_required(VERSION 3.25)
set(lines ${CMAKE_CURRENT_LIST_DIR}/../tests/golden/texts_to_find.txt)
function(expect code text)  # arguments...
  execute_process(COMMAND ${EMBED} ${ARGN} INPUT_FILE ${lines} RESULT_VARIABLE found OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT found EQUAL code OR NOT "${out}${err}" MATCHES "${text}")
    message(FATAL_ERROR "tokamax_embed ${ARGN}: found ${found}: ${out}${err}\nexpected ${code}: ${text}")
  endif()
endfunction()

expect(1 "tokamax_embed: .*none.tokenizer.json" none)
expect(1 "model is required")
if(NOT MODELS)
  message("skipped: no TOKAMAX_REAL_MODELS, see cmake/real_models.cmake")
  return()
endif()
set(model ${MODELS}/all-MiniLM-L6-v2)
expect(0 "^0[.][0-9]+ A cat sleeps on the warm roof[.]\n$" ${model} --query "Where is the kitten?" --top 1)
expect(0 "^0[.][0-9]+ The bank raised its interest rates[.]\n0[.]" ${model} --query "money and finance" --top 2)
