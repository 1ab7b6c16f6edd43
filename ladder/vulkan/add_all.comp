/* add_all: additions without memory: eight pairs that add each other, n times. */
void main() {
    float a[8], b[8];
    for (uint k = 0; k < 8; k++)
        a[k] = gl_LocalInvocationID.x, b[k] = k;
    for (uint round = 0; round < n; round++)
        for (uint k = 0; k < 8; k++)
            a[k] += b[k], b[k] += a[k];
    float sum = 0;
    for (uint k = 0; k < 8; k++)
        sum += a[k] + b[k];
    if (sum == -1.0)
        sums.at[0] = sum; /* never */
}
