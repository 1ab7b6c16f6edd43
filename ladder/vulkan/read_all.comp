#include "roof.glsl"
