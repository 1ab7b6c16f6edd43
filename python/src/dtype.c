#include "dtype.h"

#include <string.h>

const char *dtype_name(tally_dtype dtype, bool is_bool) {
    tally_type_traits traits = {.struct_size = sizeof traits};
    return is_bool ? "bool" : tally_dtype_traits(dtype, &traits) ? "?" : traits.numpy_name;
}

tally_dtype dtype_of_parts(bool is_float, bool is_signed, size_t bytes) {
    if (is_float)
        return bytes == 8 ? TALLY_F64 : bytes == 4 ? TALLY_F32 : bytes == 2 ? TALLY_F16 : TALLY_DEFAULT;
    switch (bytes) {
    case 1:
        return is_signed ? TALLY_I8 : TALLY_U8;
    case 2:
        return is_signed ? TALLY_I16 : TALLY_U16;
    case 4:
        return is_signed ? TALLY_I32 : TALLY_U32;
    case 8:
        return is_signed ? TALLY_I64 : TALLY_U64;
    default:
        return TALLY_DEFAULT;
    }
}

int dtype_of_format(const char *format, Py_ssize_t bytes, tally_dtype *dtype, bool *is_bool) {
    const char *code = format ? format : "B";
    if (*code == '@' || *code == '=' || (*code == '<' && !PY_BIG_ENDIAN) || (*code == '>' && PY_BIG_ENDIAN))
        code++;
    *dtype = TALLY_DEFAULT;
    if (*code && !code[1]) {
        *is_bool = *code == '?';
        if (strchr("bhilqn", *code))
            *dtype = dtype_of_parts(false, true, (size_t)bytes);
        else if (strchr("BHILQN?", *code))
            *dtype = dtype_of_parts(false, false, (size_t)bytes);
        else if (strchr("efd", *code))
            *dtype = dtype_of_parts(true, true, (size_t)bytes);
    }
    if (*dtype != TALLY_DEFAULT)
        return 0;
    if (strchr("<>!", *code) && code[1] && !code[2])
        PyErr_Format(PyExc_TypeError,
                     "elements of format '%s' have another byte order than this machine; with NumPy, "
                     "x.astype(x.dtype.newbyteorder('=')) converts them",
                     format);
    else
        PyErr_Format(PyExc_TypeError, "tally has no elements of format '%s'", format ? format : "B");
    return -1;
}

/* NumPy's codes of types in the machine's byte order: "f4", and "<f4" where the lowest byte comes first. "i8" has 8
 * bytes here, as everywhere in Python; in C it is the library's name of int8. */
static bool dtype_from_code(const char *code, tally_dtype *dtype) {
    tally_type_traits traits = {.struct_size = sizeof traits};
    code += *code == (PY_BIG_ENDIAN ? '>' : '<') || *code == '=' || *code == '|';
    for (int type = TALLY_DEFAULT + 1; strlen(code) == 2 && !tally_dtype_traits((tally_dtype)type, &traits); type++)
        if (!strcmp(code, traits.npy_code) && *code != 'V') {
            *dtype = (tally_dtype)type;
            return true;
        }
    return false;
}

const char *whole_text(PyObject *str) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(str, &length);
    if (!text || strlen(text) == (size_t)length)
        return text;
    PyErr_Format(PyExc_ValueError, "%R has a null character", str);
    return NULL;
}

int dtype_from_object(PyObject *object, tally_dtype *dtype, bool *is_bool) {
    PyObject *name = NULL;
    if (PyUnicode_Check(object))
        name = Py_NewRef(object);
    else if ((name = PyObject_GetAttrString(object, "__name__"))) /* a class: numpy.float32 */
        ;
    else {
        PyErr_Clear();
        name = PyObject_Str(object); /* numpy.dtype: "float32"; torch: "torch.float32" */
    }
    const char *text = name ? whole_text(name) : NULL;
    if (!text) {
        Py_XDECREF(name);
        return -1;
    }
    const char *dot = strrchr(text, '.');
    text = dot ? dot + 1 : text;
    *is_bool = !strcmp(text, "bool") || !strcmp(text, "bool_");
    int wrong = 0;
    if (*is_bool)
        *dtype = TALLY_U8;
    else if (!strcmp(text, "int"))
        *dtype = TALLY_I64;
    else if (!strcmp(text, "float"))
        *dtype = TALLY_F64;
    else if (!dtype_from_code(text, dtype) && tally_dtype_from_name(text, dtype) != TALLY_OK) {
        PyErr_Format(PyExc_TypeError, "tally has no type '%s'", text);
        wrong = -1;
    }
    Py_DECREF(name);
    return wrong;
}
