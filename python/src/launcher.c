/* The program behind "python -m tally". */
#include "command.h"

int main(int argc, char **argv) {
    return tally_command(argc, argv);
}
