#define FOLD NAME(fold_one_by_one)
