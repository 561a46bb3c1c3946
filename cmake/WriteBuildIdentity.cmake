# cmake -DHEADERS=a.h;b.h -DFLAGS=... -DINPUT=x.in -DOUTPUT=x.cpp -P WriteBuildIdentity.cmake
# Configures INPUT with SHOAL_BUILD_IDENTITY: a digest of the headers' contents and of the flags. OUTPUT is touched only
# when it changes.
set(all "${FLAGS}")
foreach(header IN LISTS HEADERS)
  file(SHA256 ${header} digest)
  string(APPEND all " ${digest}")
endforeach()
string(SHA256 SHOAL_BUILD_IDENTITY "${all}")
string(SUBSTRING "${SHOAL_BUILD_IDENTITY}" 0 16 SHOAL_BUILD_IDENTITY)
configure_file(${INPUT} ${OUTPUT} @ONLY)
