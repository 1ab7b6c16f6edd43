/* read_all: what the steps are held against: every thread reads four elements, a workgroup's width apart, and nothing is
 * done with them. 'groups' workgroups stride over the array. */
void main() {
    const uint t = gl_LocalInvocationID.x, step_size = 4 * BLOCK * groups;
    float sum = 0;
    if (my_group() >= groups)
        return;
    for (uint first = my_group() * 4 * BLOCK + t; first < n; first += step_size)
        for (uint k = 0; k < 4; k++)
            sum += element_or_0(first + k * BLOCK);
    if (sum == -1.0)
        sums.at[0] = sum; /* never: the values are not negative */
}
