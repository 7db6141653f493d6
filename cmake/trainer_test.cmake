# trainer_test.cmake: TRAINER never touches what an earlier run has left, and refuses by name, before it trains, what it cannot
# do. Works in the folder WORK.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
file(READ ${root}/include/tokamax/models/gpt.hpp text)
file(WRITE ${WORK}/text.txt "${text}")
string(REPLACE "\n" " " one_line "${text}")
file(WRITE ${WORK}/one_line.txt "${one_line}")
file(WRITE ${WORK}/other.txt "${text} ")
set(model --width 8 --context 8 --layers 1 --sample-tokens 5)
set(run ${TRAINER} ${model} --data ${WORK}/text.txt --steps 6 --eval-every 3 --save-every 2)

# Names and bytes of all files in a folder
function(content_of folder result)
  file(GLOB_RECURSE files LIST_DIRECTORIES true RELATIVE ${folder} ${folder}/*)
  set(all "")
  foreach(file IN LISTS files)
    set(sum "")
    if(NOT IS_DIRECTORY ${folder}/${file})
      file(SHA256 ${folder}/${file} sum)
    endif()
    string(APPEND all "${file} ${sum}\n")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# Status 1, the message, and the folder as it was
function(refuses folder expected)  # command...
  content_of(${WORK}/${folder} before)
  execute_process(COMMAND ${ARGN} --out ${WORK}/${folder} RESULT_VARIABLE code ERROR_VARIABLE output OUTPUT_QUIET
                  TIMEOUT 100)
  list(JOIN ARGN " " command)
  if(NOT code EQUAL 1 OR NOT output MATCHES "${expected}")
    problem("${command}\n  found status ${code} and the message\n  ${output}\nexpected status 1 and: ${expected}")
  endif()
  content_of(${WORK}/${folder} after)
  if(NOT before STREQUAL after)
    problem("${command}\n  changed the folder ${folder} from\n${before}to\n${after}")
  endif()
endfunction()

# Every option is checked by its name before anything is made.
foreach(bad IN ITEMS "layers 0" "layers -1" "layers 10001" "layers 2.5" "layers 99999999999999999999" "width 0" "width -8"
        "width 16777216" "heads 0" "heads -1" "heads 3" "context 0" "context -4" "context 99999999" "batch 0" "batch -1"
        "batch 99999999" "steps 0" "steps -3" "steps 9999999999" "warmup -1" "warmup 1200" "warmup 99999999999"
        "learning-rate nan" "learning-rate -1" "learning-rate 0" "learning-rate inf" "learning-rate x" "final-rate -1"
        "final-rate nan" "final-rate inf" "weight-decay -5" "weight-decay nan" "weight-decay inf" "clip 0" "clip -1" "clip nan"
        "clip inf" "eval-every 0" "eval-every -1" "save-every 0" "save-every -2" "seed -1" "seed 4294967296" "threads -1"
        "threads 100000" "sample-tokens -1" "sample-tokens 9999999999")
  string(REGEX REPLACE " .*" "" option ${bad})
  separate_arguments(words UNIX_COMMAND --${bad})
  refuses(none "--${option}" ${TRAINER} --data ${WORK}/text.txt ${words})
endforeach()
foreach(device IN ITEMS gpu cuda: cuda:x cuda:-1 cuda:1x cpu:0)
  refuses(none "--device: found '${device}', expected cpu, cuda, or cuda:N" ${run} --device ${device})
endforeach()
refuses(none "cuda: device: found no driver: /none/libcuda.so .*expected cuda:1"
        ${CMAKE_COMMAND} -E env TOKAMAX_CUDA_DRIVER=/none/libcuda.so ${run} --device cuda:1)
refuses(none "--allow-changes" ${run} --allow-changes)
refuses(none "memory for --layers" ${TRAINER} --data ${WORK}/text.txt --width 1048576 --layers 10000)
refuses(none "vocabulary: symbol: found '~'" ${run} --characters --sample "a~")
refuses(none "Is a directory" ${TRAINER} ${model} --data ${WORK})
refuses(none "a device" ${TRAINER} ${model} --data /dev/zero)
if(EXISTS ${WORK}/none)
  problem("a refused run leaves the folder ${WORK}/none")
endif()
execute_process(COMMAND ${TRAINER} --data "" RESULT_VARIABLE code ERROR_VARIABLE output)
if(NOT code EQUAL 1 OR NOT output MATCHES "--data: found no name")
  problem("--data '': found status ${code} and\n  ${output}")
endif()
foreach(out IN ITEMS "" /proc/x ${WORK}/text.txt ${WORK}/text.txt/x)
  execute_process(COMMAND ${run} --out "${out}" RESULT_VARIABLE code ERROR_VARIABLE output OUTPUT_QUIET)
  if(NOT code EQUAL 1 OR NOT output MATCHES "^tokamax_train: [^\n]*\n$")
    problem("--out '${out}': found status ${code} and\n  ${output}\nexpected status 1 and one line")
  endif()
endforeach()

# The default prompt is a symbol that the text has.
execute_process(COMMAND ${TRAINER} ${model} --data ${WORK}/one_line.txt --steps 1 --characters --out ${WORK}/one_line
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

if(EXISTS /dev/full)
  execute_process(COMMAND ${run} --out ${WORK}/unheard OUTPUT_FILE /dev/full ERROR_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 1 OR NOT output MATCHES "output: found lines" OR NOT EXISTS ${WORK}/unheard/checkpoints/6/metadata.json)
    problem("output to a full disk: found status ${code} and\n  ${output}")
  endif()
endif()

# An earlier run stays as it is, also one that was killed before its first checkpoint.
execute_process(COMMAND ${run} --out ${WORK}/first OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
refuses(first "checkpoints, metrics.jsonl, loss.svg of an earlier run.*--out.*--resume" ${run})
file(MAKE_DIRECTORY ${WORK}/early)
file(WRITE ${WORK}/early/metrics.jsonl "{\"step\": 1, \"loss\": 5.5}\n")
refuses(early "metrics.jsonl of an earlier run" ${run})

# What goes on is the run that was begun.
foreach(change IN ITEMS "heads 1" "seed 7" "batch 9" "learning-rate 0.5" "final-rate 0.5" "warmup 2" "clip 2" "weight-decay 0")
  separate_arguments(words UNIX_COMMAND --${change})
  string(REPLACE "-" "_" name ${change})
  refuses(first "resume: settings: found ${name}.*, expected .* as the run began; --allow-changes" ${run} --resume ${words})
endforeach()
refuses(first "settings: found characters true, vocabulary [0-9]+, expected characters false" ${run} --resume --characters)
refuses(first "settings: found data bytes .*data crc32c" ${TRAINER} ${model} --steps 6 --data ${WORK}/other.txt --resume)
refuses(first "settings: found steps 7, expected steps 6" ${TRAINER} ${model} --steps 7 --data ${WORK}/text.txt --resume)
execute_process(COMMAND ${run} --out ${WORK}/first --resume --allow-changes --learning-rate 0.5 OUTPUT_VARIABLE output
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "resumed at step 6")
  problem("--allow-changes does not go on:\n${output}")
endif()

# What cannot be read is not taken for missing.
foreach(name IN ITEMS metrics.jsonl checkpoints)
  file(REMOVE_RECURSE ${WORK}/broken)
  file(COPY ${WORK}/first/ DESTINATION ${WORK}/broken)
  file(REMOVE_RECURSE ${WORK}/broken/${name})
  if(name STREQUAL checkpoints)
    file(WRITE ${WORK}/broken/${name} "a file")
    refuses(broken "Not a directory" ${run} --resume)
  else()
    file(MAKE_DIRECTORY ${WORK}/broken/${name})
    refuses(broken "Is a directory" ${run} --resume)
  endif()
endforeach()
# The newest checkpoint is damaged: the message names the one before it, from where a run goes on when told so.
file(REMOVE_RECURSE ${WORK}/broken)
file(COPY ${WORK}/first/ DESTINATION ${WORK}/broken)
file(REMOVE ${WORK}/broken/checkpoints/6/metadata.json)
refuses(broken "checkpoint 4 is whole: move" ${run} --resume)
file(RENAME ${WORK}/broken/checkpoints/6 ${WORK}/broken/damaged)
execute_process(COMMAND ${run} --out ${WORK}/broken --resume OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(name IN ITEMS metrics.jsonl loss.svg checkpoints/6/arrays.safetensors)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/first/${name} ${WORK}/broken/${name} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    problem("${name} differs after the run went on from step 4")
  endif()
endforeach()

# The device leaves no trace in what is written: a run on another one writes the same files, and one that goes on there too.
file(COPY ${WORK}/first/ DESTINATION ${WORK}/moved)
file(REMOVE_RECURSE ${WORK}/moved/checkpoints/6)
execute_process(COMMAND ${run} --out ${WORK}/moved --resume --device far OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${run} --out ${WORK}/far --device far OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(folder IN ITEMS moved far)
  foreach(name IN ITEMS metrics.jsonl loss.svg checkpoints/6/metadata.json checkpoints/6/arrays.safetensors)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/first/${name} ${WORK}/${folder}/${name} RESULT_VARIABLE code)
    if(NOT code EQUAL 0)
      problem("${name} of the run on another device differs: ${folder}")
    endif()
  endforeach()
endforeach()

# Two trainers in one folder
execute_process(COMMAND sh -c "
    ${TRAINER} --data ${WORK}/text.txt --layers 1 --width 8 --context 8 --steps 1000000 --out ${WORK}/shared > ${WORK}/log 2>&1 & pid=$!
    while [ ! -s ${WORK}/shared/metrics.jsonl ] && kill -0 $pid; do sleep 0.05; done
    ${TRAINER} --data ${WORK}/text.txt --layers 1 --width 8 --context 8 --steps 1000000 --out ${WORK}/shared --resume 2> ${WORK}/second
    echo $? >> ${WORK}/second; kill -TERM $pid; wait $pid" RESULT_VARIABLE code OUTPUT_QUIET TIMEOUT 100)
file(READ ${WORK}/second second)
if(NOT code EQUAL 143 OR NOT second MATCHES "lock: found another process at work.*\n1\n")
  problem("two trainers in one folder: the first ended with ${code}, the second with\n${second}")
endif()

# The quickstart takes a new folder each time, and goes on in the last one when told so.
foreach(run IN ITEMS "" "" -DRESUME=ON)
  execute_process(COMMAND ${CMAKE_COMMAND} -DSETUP=OFF -DTRAINER=${TRAINER} -DRUNS=${WORK}/runs -DDATA=${WORK}/text.txt -DLAYERS=1
                          -DWIDTH=8 -DCONTEXT=8 -DSTEPS=4 ${run} -P ${root}/cmake/quickstart.cmake
                  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB folders RELATIVE ${WORK}/runs ${WORK}/runs/*)
if(NOT folders STREQUAL "quickstart;quickstart-2" OR NOT output MATCHES "resumed at step 4")
  problem("three quickstarts: found the folders ${folders}, and at last\n${output}")
endif()
report_problems("nothing is destroyed, and what is refused is named")
