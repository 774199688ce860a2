/* The units' built-in tuning is parsed. */
#include "select/tuning.h"

const struct cs_tuning_compiled *const cs_tuning_compiled = NULL;
