# check_passes.cmake: checks that passes and transforms read the facts of ops and do not name them. They may recognise only the
# structural ops of graphs, and they may name ops that they create themselves. And no fact is found by its place among the
# attribute words: core/attributes/facts.hpp finds facts by the kind of an attribute, and `unpack` gives the options record.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)
set(structural constant_p dense_p captured_p get_p stand_in_p placeholder_p)

file(GLOB_RECURSE headers RELATIVE ${root}/include/tokamax ${root}/include/tokamax/compiler/*.hpp ${root}/include/tokamax/transforms/*.hpp)
foreach(header IN LISTS headers)
  file(STRINGS ${root}/include/tokamax/${header} lines REGEX "&[a-z0-9_:]+_p[^a-z0-9_]|[a-z]->name [!=]= \"|[a-z]\\.name [!=]= \"")
  foreach(line IN LISTS lines)
    string(REGEX MATCHALL "&[a-z0-9_:]+_p" found "${line}")
    list(TRANSFORM found REPLACE "&|.*::" "")
    list(REMOVE_ITEM found ${structural})
    if(NOT found STREQUAL "" OR line MATCHES "name [!=]= \"")
      string(STRIP "${line}" line)
      problem("${header} names an op: ${line}")
    endif()
  endforeach()
endforeach()

set(readers "")
foreach(folder IN ITEMS compiler core/graph kernel runtime transforms)
  file(GLOB_RECURSE found RELATIVE ${root}/include/tokamax ${root}/include/tokamax/${folder}/*.hpp)
  list(APPEND readers ${found})
endforeach()
string(CONCAT by_place "words_of\\([^)]*\\)(\\[| [+-])|"  # g.words_of(n)[0], g.words_of(n) + 1
                       "\\*[a-z_.>-]*words_of\\(|"         # *g.words_of(n)
                       "words\\[[^]]*first_word|"          # g.words[n.first_word]
                       "attributes(\\[| [+-] )|"           # c.attributes[0], a.attributes + 1
                       "attribute_words\\(\\)(\\[|\\.(back|data))|"
                       "attribute_count [+-]|"             # c.attributes[c.attribute_count - 1]
                       "[^a-z_0-9](w\\[|w\\.back\\(|words\\[[0-9])")  # lists of attribute words have these names
foreach(header IN LISTS readers)
  file(STRINGS ${root}/include/tokamax/${header} lines REGEX "${by_place}")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" line)
    if(line MATCHES "^//")
      continue()
    endif()
    problem("${header} reads an attribute by its place: ${line}")
  endforeach()
endforeach()
report_problems("passes name no op and read no attribute by its place")
