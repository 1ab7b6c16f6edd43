#define COPY
#include "roof.glsl"
