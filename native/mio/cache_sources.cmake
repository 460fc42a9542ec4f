# `pf` and `wb` of Modular I/O, without the stack that calls them: whoever links the target defines
# gn_mio_below_*(), gn_mio_descriptor() and gn_mio_cache_write().
include_guard(GLOBAL)
find_package(Threads REQUIRED)
add_library(gnomon-mio-cache STATIC
            ${CMAKE_CURRENT_LIST_DIR}/cache_process.c ${CMAKE_CURRENT_LIST_DIR}/inode.c
            ${CMAKE_CURRENT_LIST_DIR}/page_cache.c ${CMAKE_CURRENT_LIST_DIR}/pf.c
            ${CMAKE_CURRENT_LIST_DIR}/pf_report.c ${CMAKE_CURRENT_LIST_DIR}/pf_requests.c
            ${CMAKE_CURRENT_LIST_DIR}/prefetch.c ${CMAKE_CURRENT_LIST_DIR}/prefetch_device.c
            ${CMAKE_CURRENT_LIST_DIR}/prefetch_pattern.c ${CMAKE_CURRENT_LIST_DIR}/prefetch_pool.c
            ${CMAKE_CURRENT_LIST_DIR}/prefetch_stream.c ${CMAKE_CURRENT_LIST_DIR}/wb.c)
target_include_directories(gnomon-mio-cache PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(gnomon-mio-cache PUBLIC Threads::Threads)
