/* operation_spec.h — which call comes next, by chance. */
#ifndef CS_TESTS_OPERATION_SPEC_H
#define CS_TESTS_OPERATION_SPEC_H

#include "operation_run.h"

/* `algorithm`: NULL: any that can. */
void spec_make(struct run *run, struct spec *spec, const struct cs_algorithm *algorithm);

#endif
