/* The version of the interface, which Python checks after loading the library. */
#include "native.h"

EXPORTED int32_t stablebag_abi(void);

EXPORTED int32_t stablebag_abi(void) { return STABLEBAG_ABI; }
