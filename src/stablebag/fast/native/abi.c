/* The number by which Python knows that it has loaded the library it was written for. */
#include "native.h"

EXPORTED int32_t stablebag_abi(void);

EXPORTED int32_t stablebag_abi(void) { return STABLEBAG_ABI; }
