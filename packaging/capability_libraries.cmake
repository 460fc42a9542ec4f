# The libraries that measured programs load: src/gnomon/NAME/native/*.c of each capability becomes
# libgnomon_NAME.so, beside the capability's Python modules.
add_custom_target(capability-libraries)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gnomon/*/native/*.c)
set(folders "")
foreach(source ${sources})
  cmake_path(GET source PARENT_PATH folder)
  list(APPEND folders ${folder})
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(folder ${folders})
  cmake_path(GET folder PARENT_PATH capability)
  cmake_path(GET capability FILENAME name)
  set(own ${sources})
  list(FILTER own INCLUDE REGEX "/src/gnomon/${name}/native/")
  add_library(gnomon-in-program-${name} MODULE ${own})
  # What the program is to call in the place of its own functions is seen; helpers are static.
  set_target_properties(gnomon-in-program-${name} PROPERTIES OUTPUT_NAME gnomon_${name}
                                                  C_VISIBILITY_PRESET default)
  target_link_libraries(gnomon-in-program-${name} PRIVATE gnomon-runtime)
  if(TARGET gnomon-generated-${name})
    get_target_property(headers gnomon-generated-${name} FOLDERS_OF_HEADERS)
    target_include_directories(gnomon-in-program-${name} PRIVATE ${headers})
    add_dependencies(gnomon-in-program-${name} gnomon-generated-${name})
    # What it measures with, where that is a folder of its own.
    get_target_property(libraries gnomon-generated-${name} LIBRARIES)
    if(libraries)
      target_link_libraries(gnomon-in-program-${name} PRIVATE ${libraries})
    endif()
  endif()
  # Each has a runtime of its own, and the end of a process still comes to it. What modules of other
  # makers call is seen. What they call of others is bound as they are loaded: where a first call is
  # bound it takes 3 KB of stack, which a signal's handler may not have.
  set(hidden ALL)
  if(TARGET gnomon-generated-${name})
    get_target_property(own_hidden gnomon-generated-${name} HIDDEN_LIBRARIES)
    if(own_hidden)
      set(hidden ${own_hidden})
    endif()
  endif()
  target_link_options(gnomon-in-program-${name} PRIVATE -Wl,--exclude-libs,${hidden} -Wl,-z,nodelete
                                             -Wl,-z,now
                                             -Wl,--no-undefined)
  install(TARGETS gnomon-in-program-${name} LIBRARY DESTINATION gnomon/${name} COMPONENT capabilities)
  add_dependencies(capability-libraries gnomon-in-program-${name})
endforeach()

# Wrappers of the MPIs that are here, so that nothing has to be compiled at a user's for these.
set(compilers "")
foreach(name mpicc.openmpi mpicc.mpich mpicc)
  find_program(found NAMES ${name} NO_CACHE)
  if(found AND (compilers STREQUAL "" OR NOT name STREQUAL "mpicc"))
    list(APPEND compilers ${found})
  endif()
  unset(found)
endforeach()
if(compilers AND NOT CMAKE_CROSSCOMPILING)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  set(compiler ${PROJECT_SOURCE_DIR}/packaging/compile_mpi_libraries.py)
  set(archives gnomon-mpitrace gnomon-mpi gnomon-call-sites gnomon-runtime gnomon-core)
  list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  file(GLOB inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/*.py
       ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/*.h ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/*.toml
       ${PROJECT_SOURCE_DIR}/src/gnomon/mpi/native/entry_points.c
       ${PROJECT_SOURCE_DIR}/native/mpi/*.h ${PROJECT_SOURCE_DIR}/native/mpi/trace/*.h
       ${PROJECT_SOURCE_DIR}/native/call_sites/*.h)
  add_custom_command(
    OUTPUT mpi-libraries/stamp
    COMMAND Python::Interpreter -B ${compiler} mpi-libraries ${files} -- ${compilers}
    COMMAND ${CMAKE_COMMAND} -E touch mpi-libraries/stamp
    DEPENDS ${compiler} ${inputs} ${archives}
    VERBATIM)
  add_custom_target(mpi-libraries ALL DEPENDS mpi-libraries/stamp)
  install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mpi-libraries/wrappers DESTINATION gnomon/mpi)
  install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mpi-libraries/mpitrace DESTINATION gnomon/lib)
endif()
