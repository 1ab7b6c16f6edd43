"""Renders conda's recipe, which checks it: rattler-build refuses keys that it does not know. usage: conda.py RECIPE"""
import sys

from rattler_build import Stage0Recipe, VariantConfig

variants = VariantConfig({"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]})
for one in Stage0Recipe.from_file(sys.argv[1]).render(variants):
    rendered = one.recipe.to_dict() if hasattr(one.recipe, "to_dict") else one.recipe().to_dict()
    print(f"conda: {rendered['package']['name']} {rendered['package']['version']}")
