// Stands in for a library that torch_cuda is linked to, so that the plugin can be loaded. Nothing calls it.
extern "C" __attribute__((visibility("default"))) void shoal_stub() {}
