// Modules that are not this program's part for GPUs: of another build, of another table, or with nothing to find.
#include "runtime/device/plugin/device_plugin.h"

#if defined(SHOAL_STRANGE_BUILD) || defined(SHOAL_STRANGE_ABI)
extern "C" {
__attribute__((visibility("default"))) extern const shoal::DevicePlugin shoal_device_plugin;
#ifdef SHOAL_STRANGE_BUILD
const shoal::DevicePlugin shoal_device_plugin = {
    shoal::kDevicePluginAbi, "0123456789abcdef", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
#else
// The table of another version may be anything behind its first field.
const shoal::DevicePlugin shoal_device_plugin = {
    shoal::kDevicePluginAbi + 1, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
#endif
}
#endif
