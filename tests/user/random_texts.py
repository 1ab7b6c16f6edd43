"""Random operators of users, with every type and statement: the C++ compiler compiles their texts, too, and the device must
give the same bits. Only what C++ defines is written: conversions of floats to integers go through whole(), divisors are
constants, shifts and indices are in bounds.
usage: random_texts.py CXX INCLUDE LIBRARY FIRST_SEED COUNT DEVICE..."""
import os
import random
import subprocess
import sys
import tempfile

INTEGERS = ["bool", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long long",
            "unsigned long long"]
FLOATS = ["float", "double"]
NUMBERS = ["0", "1", "2", "3", "7", "31", "100", "255", "256", "65535", "-1", "-128", "1u", "4294967295u", "0x7fffffff",
           "9000000000ll", "0xffffffffffffffffull", "true", "false"]
FLOAT_NUMBERS = ["0.5f", "1.25", "-3.0f", "1e3f", "0.1", "0.1f", "1e-3"]
ELEMENTS = 300


class Writer:
    """Expressions and statements over variables that are in scope: (name, type, length of an array or 0)."""

    def __init__(self, operator, variables):
        self.o, self.r, self.variables, self.count = operator, operator.r, list(variables), 0

    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}_{self.r.randrange(1000)}"

    def index(self, length):
        if self.r.random() < 0.7:
            return str(self.r.randrange(length))
        return f"({self.integer(1)} & 0x7fffffff) % {length}"

    def place(self, variable):
        name, kind, length = variable
        if kind == "acc_t":
            member, kind, length = self.r.choice(self.o.members)
            name = f"{name}.{member}"
        return name + (f"[{self.index(length)}]" if length else ""), kind

    def integer(self, depth):
        text = self.expression(depth)
        return f"(int)(long long)({f'whole({text})' if self.o.has_floats else text})"

    def converted(self, kind, depth):
        if kind == "bool":
            return f"({self.expression(depth)}) != 0"
        return self.expression(depth) if kind in FLOATS else f"({kind})({self.integer(depth)})"

    def expression(self, depth):
        r, which = self.r, self.r.random()
        if depth <= 0 or which < 0.25:
            if r.random() < 0.7:
                return self.place(r.choice(self.variables))[0]
            return r.choice(FLOAT_NUMBERS if self.o.has_floats and r.random() < 0.3 else NUMBERS)
        one, other = lambda: self.expression(depth - 1), lambda: self.integer(depth - 1)
        if which < 0.5:
            return f"({one()} {r.choice(['+', '-', '*', '<', '>', '<=', '>=', '==', '!=', '&&', '||'])} {one()})"
        if which < 0.6:
            return f"({other()} {r.choice('&|^')} {other()})"
        if which < 0.66:
            return f"({other()} {r.choice('/%')} {r.choice(['3', '7u', '-5', '11ll', '1'])})"
        if which < 0.72:
            return f"(((unsigned)({other()})) {r.choice(['<<', '>>'])} {r.randrange(32)})"
        if which < 0.78:
            return f"({other()} >> {r.randrange(32)})"
        if which < 0.86:
            return f"({one()} ? {one()} : {one()})"
        if which < 0.92:
            return f"(({r.choice(INTEGERS)})({other()}))"
        if which < 0.95:
            return f"{r.choice('-!')}({one()})"
        if which < 0.97:
            return f"(~({other()}))"
        if self.o.functions and r.random() < 0.8:
            name, kinds = r.choice(self.o.functions)
            return f"{name}({', '.join(self.converted(kind, depth - 1) for kind in kinds)})"
        return f"{r.choice(['min', 'max'])}({other()}, {other()})"

    def assignment(self, names):
        place, kind = self.place(self.r.choice([v for v in self.variables if v[0] in names]))
        which = self.r.random()
        if which < 0.15 and kind != "bool":
            return f"{place}{self.r.choice(['++', '--'])};\n"
        if which < 0.3 and kind != "bool":
            return f"{place} {self.r.choice(['+=', '-='])} {self.converted(kind, 2)};\n"
        return f"{place} = {self.converted(kind, 3)};\n"

    def loop(self, names, depth, result):
        i = self.fresh("i")
        turns = str(self.r.randint(1, 5)) if self.r.random() < 0.6 else f"(({self.integer(1)}) & 7)"
        self.variables.append((i, "int", 0))
        body = self.block(names, depth, result, True)
        self.variables = [v for v in self.variables if v[0] != i]
        return f"for (int {i} = 0, n{i} = {turns}; {i} < n{i}; {i}++) {{\n{body}}}\n"

    def block(self, names, depth, result, in_loop=False):
        """Statements that may assign to the names. 'result' gives what 'return' does; None: there is none."""
        r, text, outer, names = self.r, "", len(self.variables), list(names)
        for _ in range(r.randint(1, 4)):
            which = r.random()
            if which < 0.25:
                kind, name, length = r.choice(self.o.kinds), self.fresh("v"), r.choice([0, 0, 0, 3])
                first = self.converted(kind, 2)
                rest = f"{{{first}, {self.converted(kind, 1)}, 0}}" if length else first
                text += f"{kind} {name}{'[3]' if length else ''} = {rest};\n"
                self.variables.append((name, kind, length))
                names.append(name)
            elif which < 0.6 and names:
                text += self.assignment(names)
            elif which < 0.75 and depth > 0:
                text += f"if ({self.expression(2)}) {{\n{self.block(names, depth - 1, result, in_loop)}}}\n"
                if r.random() < 0.5:
                    text += f"else {{\n{self.block(names, depth - 1, result, in_loop)}}}\n"
            elif which < 0.88 and depth > 0:
                text += self.loop(names, depth - 1, result)
            elif in_loop and which < 0.93:
                text += f"if ({self.expression(2)}) {r.choice(['break', 'continue'])};\n"
            elif which < 0.97 and result:
                text += f"if ({self.expression(2)}) return {result()};\n".replace("return ;", "return;")
        self.variables = self.variables[:outer]
        return text


class Operator:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.has_floats = r.random() < 0.5
        self.kinds = INTEGERS + (FLOATS if self.has_floats else [])
        self.members = [(f"m{k}", r.choice(self.kinds), r.choice([0, 0, 0, 2, 3])) for k in range(r.randint(1, 4))]
        self.functions = []
        members = "".join(f"{kind} {name}{f'[{n}]' if n else ''}; " for name, kind, n in self.members)
        self.declarations = f"struct acc_t {{ {members}}};\n"
        if self.has_floats:
            self.declarations += "long long whole(double v) { return v < 1e6 && v > -1e6 ? (long long)v : 0; }\n"
        for k in range(r.randint(0, 3)):
            self.add_function(f"f{k}")
        w = Writer(self, [("a", "acc_t", 0), ("k", "int", 0)])
        self.declarations += f"void change(acc_t &a, int k) {{\n{w.block(['a', 'k'], 2, lambda: '')}}}\n"
        lift = self.accumulator([("x", "int", 0), ("index", "unsigned long long", 0)], "acc_t{}")
        combine = self.accumulator([("left", "acc_t", 0), ("right", "acc_t", 0)], "left")
        self.texts = [self.declarations, "acc_t{}", lift, combine, self.lower()]

    def add_function(self, name):
        kinds, kind = [self.r.choice(self.kinds) for _ in range(self.r.randint(1, 3))], self.r.choice(self.kinds)
        w = Writer(self, [(f"p{k}", of, 0) for k, of in enumerate(kinds)])
        body = w.block([f"p{k}" for k in range(len(kinds))], 2, lambda: w.converted(kind, 2))
        parameters = ", ".join(f"{of} p{k}" for k, of in enumerate(kinds))
        self.declarations += f"{kind} {name}({parameters}) {{\n{body}return {w.converted(kind, 2)};\n}}\n"
        self.functions.append((name, kinds))

    def accumulator(self, variables, first):
        w = Writer(self, variables + [("r", "acc_t", 0)])
        text = w.block(["r"], 3, lambda: "r")
        text += f"change(r, {w.integer(2)});\n" if self.r.random() < 0.5 else ""
        text += f"if ({w.expression(2)}) change(r, {w.integer(1)});\n" if self.r.random() < 0.3 else ""
        return f"[&] {{\nacc_t r = {first};\n{text}{w.block(['r'], 2, lambda: 'r')}return r;\n}}()"

    def lower(self):
        text = "[&] {\nunsigned long long h = count;\n"
        for name, kind, length in self.members:
            for k in range(max(length, 1)):
                v = f"acc.{name}" + (f"[{k}]" if length else "")
                if kind == "float":
                    v = f"__float_as_uint({v} == {v} ? {v} : 0.0f)"
                elif kind == "double":
                    v = f"(long long)({v} < 1e6 && {v} > -1e6 ? {v} * 1024 : 0)"
                text += f"h = h * 31 + (unsigned long long)({v});\n"
        return text + "return h;\n}()"


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def program(seeds):
    here = os.path.dirname(os.path.abspath(__file__))
    text = open(os.path.join(here, "random_texts.h")).read()
    for seed in seeds:
        texts = Operator(seed).texts
        text += f"namespace s{seed} {{\n{texts[0]}static acc_t identity() {{ return {texts[1]}; }}\n"
        text += f"static acc_t lift(const int x, const u64 index) {{ return {texts[2]}; }}\n"
        text += f"static acc_t combine(const acc_t left, const acc_t right) {{ return {texts[3]}; }}\n"
        text += f"static u64 lower(const acc_t acc, const u64 count) {{ return {texts[4]}; }}\n"
        text += f"static void go() {{\nstatic const char *const texts[] = {{{', '.join(map(quoted, texts))}}};\n"
        text += f"check<acc_t>({seed}, texts, identity, lift, combine, lower);\n}}\n}}\n"
    calls = "".join(f"s{seed}::go();\n" for seed in seeds)
    return text + f"int main(int, char **v) {{\nopen_device(v[1]);\n{calls}return report();\n}}\n"


def main():
    compiler, include, library, first, count = sys.argv[1:6]
    seeds = range(int(first), int(first) + int(count))
    with tempfile.TemporaryDirectory() as folder:
        source, made = os.path.join(folder, "texts.cpp"), os.path.join(folder, "texts")
        open(source, "w").write(program(seeds))
        subprocess.run([compiler, "-O1", "-w", "-fwrapv", "-ffp-contract=off", "-DTALLY_STATIC", "-I" + include, source,
                        library, "-lm", "-lpthread", "-ldl", "-o", made], check=True)
        sys.exit(any([subprocess.run([made, device]).returncode for device in sys.argv[6:]]))


main()
