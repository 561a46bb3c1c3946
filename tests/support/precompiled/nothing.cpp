// Compiles nothing: it owns the headers that the tests beside it reuse. See shoal_test() in cmake/ShoalTargets.cmake.
