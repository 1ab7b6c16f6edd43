#ifndef TALLY_PYTHON_COMMAND_H
#define TALLY_PYTHON_COMMAND_H

__attribute__((visibility("default"))) int tally_command(int argc, char **argv);

#endif
