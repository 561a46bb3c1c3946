// One clone of a function per instruction set, chosen when the program starts.
//
// For loops whose arithmetic gives the same bits in each: IEEE operations and explicit fma, compiled with -O3
// -ffp-contract=off (the CMakeLists.txt of their folder), so that the compiler may vectorise but not fuse or reorder.
// Sanitizers do not live with the resolvers that choose a clone: there is only the plain one then.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SHOAL_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SHOAL_VECTOR_CLONES
#endif
