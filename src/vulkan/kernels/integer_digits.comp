/* Digits of base 2^32 of a thread's own, as digits.comp takes them: four of a sum, and the rest for that of squares. */
uint own_digits[18];
uint digit(int i) {
    return own_digits[i];
}
void set_digit(int i, uint value) {
    own_digits[i] = value;
}
