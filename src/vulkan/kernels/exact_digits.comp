/* Exact mode: digits of base 2^32, the lowest first, take the place of the team's words. */
uint digit(int i) {
    return uint(words[first_words + i]);
}
void set_digit(int i, uint value) {
    words[first_words + i] = int(value);
}
