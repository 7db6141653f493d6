# images.cmake: tokamax::images, for images/, where libjpeg-turbo and libpng are found. Installed: find_package(tokamax) reads it too.

# Programs that read images link it and include images.hpp.
function(tokamax_images core)
  if(TARGET tokamax::images)
    return()
  endif()
  tokamax_optional(libjpeg-turbo "libjpeg-turbo::jpeg;libjpeg-turbo::jpeg-static" jpeg jpeglib.h jpeg)
  tokamax_optional(PNG "PNG::PNG;PNG::png_shared;PNG::png_static" png png.h png)
  if(NOT jpeg OR NOT png)
    message(STATUS "tokamax::images: left out, found no libjpeg-turbo or no libpng (Debian: libjpeg62-turbo-dev libpng-dev)")
    return()
  endif()
  add_library(tokamax::images INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tokamax::images INTERFACE ${core} ${jpeg} ${png})
endfunction()
