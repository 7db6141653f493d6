# resume_test.cmake: TRAINER, killed or asked to stop at random moments and resumed, ends with the same bytes as one that
# ran straight; it names the file when a text is missing, empty or too short. Works in the folder WORK.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

file(GLOB sources ${root}/include/tokamax/train/*.hpp)
set(text "")
foreach(source IN LISTS sources)
  file(READ ${source} part)
  string(APPEND text "${part}")
endforeach()
file(WRITE ${WORK}/text.txt "${text}")
set(options --data ${WORK}/text.txt --layers 2 --width 32 --heads 2 --context 32 --batch 8 --steps 30 --warmup 5
    --eval-every 10 --save-every 4 --sample-tokens 20)

execute_process(COMMAND ${TRAINER} ${options} --threads 1 --out ${WORK}/straight OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

# Kills land at a random step: the trainer is stopped once its metrics file has that many lines.
string(RANDOM LENGTH 6 ALPHABET 123456789 seed)
message(STATUS "random seed ${seed}")
set(kills 0)
set(signals 9 9 TERM 9 INT 9 TERM)
set(stops 0)
foreach(round RANGE 1 6)
  list(GET signals ${round} signal)
  string(RANDOM LENGTH 1 ALPHABET 123456789 RANDOM_SEED ${seed}${round} more)
  string(JOIN " " command ${TRAINER} ${options} --threads 1 --out ${WORK}/killed --resume)
  execute_process(COMMAND sh -c "${command} > ${WORK}/log 2>&1 & pid=$!
    lines() { wc -l 2> ${WORK}/wc < ${WORK}/killed/metrics.jsonl || echo 0; }
    rm -f ${WORK}/killed/metrics.jsonl.seen; last=0; steps=0
    while kill -0 $pid 2> ${WORK}/wc; do
      now=$(lines); [ \"$now\" -ne $last ] && { last=$now; steps=$((steps + 1)); }
      [ $steps -gt ${more} ] && { kill -${signal} $pid; break; }
    done
    wait $pid" RESULT_VARIABLE code ERROR_QUIET)
  if(code EQUAL 137)
    math(EXPR kills "${kills} + 1")
  elseif((signal STREQUAL TERM AND code EQUAL 143) OR (signal STREQUAL INT AND code EQUAL 130))
    math(EXPR stops "${stops} + 1")
    file(READ ${WORK}/log log)
    if(NOT log MATCHES "stopped by signal [0-9]+ after ([0-9]+) steps")
      problem("the stopped trainer does not say so:\n${log}")
    elseif(NOT EXISTS ${WORK}/killed/checkpoints/${CMAKE_MATCH_1}/metadata.json)
      problem("the trainer was stopped after ${CMAKE_MATCH_1} steps and left no checkpoint of them")
    endif()
  elseif(NOT code EQUAL 0)
    file(READ ${WORK}/log log)
    problem("the resumed trainer ends with status ${code}:\n${log}")
  endif()
endforeach()
execute_process(COMMAND ${TRAINER} ${options} --threads 1 --out ${WORK}/killed --resume OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

if(kills EQUAL 0)
  problem("no run was killed before its end")
endif()
foreach(name IN ITEMS metrics.jsonl checkpoints/30/arrays.safetensors loss.svg)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/straight/${name} ${WORK}/killed/${name}
                  RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    problem("${name} differs after ${kills} kills; see ${WORK}")
  endif()
endforeach()

# Two threads give what one gives.
execute_process(COMMAND ${TRAINER} ${options} --threads 2 --out ${WORK}/threads OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/straight/metrics.jsonl ${WORK}/threads/metrics.jsonl
                RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  problem("two threads give other losses than one; see ${WORK}")
endif()

function(refuses file expected)
  execute_process(COMMAND ${TRAINER} --data ${file} --out ${WORK}/refused --context 64 RESULT_VARIABLE code
                  ERROR_VARIABLE output OUTPUT_QUIET)
  string(FIND "${output}" "${file}" named)
  if(NOT code EQUAL 1 OR named EQUAL -1 OR NOT output MATCHES "${expected}")
    problem("${file}: found status ${code} and the message\n  ${output}\nexpected status 1 and: ${expected}")
  endif()
endfunction()
file(WRITE ${WORK}/empty.txt "")
file(WRITE ${WORK}/short.txt "To be, or not to be")
refuses(${WORK}/missing.txt "No such file")
refuses(${WORK}/empty.txt "an empty file")
refuses(${WORK}/short.txt "65 or more \\(a context of 64")
if(EXISTS ${WORK}/refused)
  problem("a refused run leaves the folder ${WORK}/refused")
endif()

report_problems("resumed after ${kills} kills and ${stops} signals to stop: the same bytes")
