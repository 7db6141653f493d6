# problems.cmake: lets check scripts name every problem they find, and fail at the end.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set_property(GLOBAL PROPERTY problems 0)

function(problem)
  message(NOTICE ${ARGN})
  get_property(count GLOBAL PROPERTY problems)
  math(EXPR count "${count} + 1")
  set_property(GLOBAL PROPERTY problems ${count})
endfunction()

function(report_problems summary)
  get_property(count GLOBAL PROPERTY problems)
  if(count GREATER 0)
    message(FATAL_ERROR "problems: ${count}")
  endif()
  message(STATUS "${summary}")
endfunction()
