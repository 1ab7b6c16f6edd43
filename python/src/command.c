/* The command, in the library that the package brings: 'main' under another name, for launcher.c. */
#include "command.h"

#define main tally_command
#include "../../cli/main.c"
