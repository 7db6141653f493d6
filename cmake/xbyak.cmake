# xbyak.cmake: tokamax::xbyak, for backend/xbyak/, where Xbyak is found. Installed: find_package(tokamax) reads it too.

# Loops of programs that are traced at run time are as fast as compiled ones then. Without it they are interpreted, with the
# same bits. Systems that allow no memory to be executable interpret them too.
option(TOKAMAX_XBYAK "Make machine code of loops that are traced at run time, where Xbyak is found (x86-64 on Unix)" ON)

function(tokamax_xbyak)
  if(NOT TOKAMAX_XBYAK OR TARGET tokamax::xbyak OR NOT UNIX OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    return()
  endif()
  find_path(TOKAMAX_XBYAK_FOLDER xbyak/xbyak.h)
  mark_as_advanced(TOKAMAX_XBYAK_FOLDER)
  if(NOT TOKAMAX_XBYAK_FOLDER)
    message(STATUS "Xbyak: not found, so loops that are traced at run time are interpreted")
    return()
  endif()
  add_library(tokamax::xbyak INTERFACE IMPORTED GLOBAL)
  target_include_directories(tokamax::xbyak SYSTEM INTERFACE ${TOKAMAX_XBYAK_FOLDER})
endfunction()
