"""Tell results from configuration by name: what programs read without being told to is left out, known or not.

Nobody can list all files that tools look for. So a new file counts as a result only where its ending is one of data,
documents or source code, and even then not where its name is one that tools look for.
"""

import re
from fnmatch import translate
from functools import lru_cache
from typing import Final

__all__ = ["CODE_ENDINGS", "is_configuration", "is_result", "is_source"]

CODE_ENDINGS: Final = frozenset(
    (
        *(".py", ".pyi", ".pyw", ".pyc", ".pyd", ".so", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"),
        *(".node", ".wasm", ".sh", ".bash", ".zsh", ".pl", ".pm", ".rb", ".php", ".lua", ".jar", ".class"),
    )
)
"""Of files that an interpreter loads by their names."""

_COMPILED: Final = frozenset({".pyc", ".pyd", ".so", ".node", ".jar", ".class"})
_BUILT_SOURCES: Final = frozenset(
    (
        *(".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".m", ".rs", ".go", ".java", ".kt", ".scala", ".swift", ".cs"),
        *(".fs", ".ex", ".erl", ".hs", ".ml", ".jl", ".r", ".zig", ".nim", ".dart", ".clj", ".f90", ".pas", ".asm"),
        *(".sol", ".vb", ".d", ".v", ".sv", ".vhd", ".vue", ".svelte", ".ps1", ".bat", ".awk", ".sed", ".fish", ".tcl"),
    )
)
_SOURCES: Final = (CODE_ENDINGS | _BUILT_SOURCES) - _COMPILED
_DATA: Final = frozenset(
    (
        *(".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".geojson", ".yaml", ".yml", ".xml", ".txt", ".log", ".text"),
        *(".md", ".markdown", ".rst", ".adoc", ".tex", ".bib", ".html", ".htm", ".css", ".scss", ".sql", ".graphql"),
        *(
            ".proto",
            ".ipynb",
            ".diff",
            ".patch",
            ".srt",
            ".vtt",
            ".ics",
            ".vcf",
            ".eml",
            ".org",
            ".dot",
            ".mmd",
            ".puml",
        ),
        *(".xlsx", ".xls", ".ods", ".docx", ".doc", ".odt", ".rtf", ".pptx", ".ppt", ".odp", ".pdf", ".epub", ".ps"),
        *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".svg", ".ico", ".mp3", ".wav", ".flac"),
        *(".ogg", ".mp4", ".webm", ".mov", ".ttf", ".otf", ".woff", ".woff2", ".stl", ".obj", ".glb", ".gltf", ".dxf"),
        *(".sqlite", ".sqlite3", ".db", ".parquet", ".arrow", ".feather", ".avro", ".orc", ".h5", ".hdf5", ".nc"),
        *(".npy", ".npz", ".mat", ".pkl", ".fasta", ".fastq", ".vcd", ".pcap", ".bin", ".dat", ".out", ".hex", ".wkt"),
        *(
            ".zip",
            ".tar",
            ".gz",
            ".tgz",
            ".bz2",
            ".xz",
            ".7z",
            ".zst",
            ".pem",
            ".crt",
            ".asc",
            ".sha256",
            ".po",
            ".tpl",
        ),
    )
)
_CONFIGURATION: Final = (
    # Endings and shapes that tools give their settings.
    *(".*", "*.ini", "*.cfg", "*.toml", "*.conf", "*.conf.*", "*.config", "*.config.*", "?*config.*", "*.properties"),
    *(
        "*.props",
        "*.targets",
        "*.gradle",
        "*.gradle.*",
        "*.mk",
        "*.mak",
        "*.cmake",
        "*.neon",
        "*.lock",
        "*.pth",
        "*.egg-info",
    ),
    *(
        "*.py[cod]",
        "*.pyi",
        "*.d.ts",
        "*.d.?ts",
        "*.setup.*",
        "*.workspace.*",
        "*ignore",
        "*_options.y*ml",
        "*_options.txt",
    ),
    # Of Python.
    *(
        "conftest.py",
        "pytest.*",
        "setup.py",
        "noxfile.py",
        "tasks.py",
        "fabfile.py",
        "dodo.py",
        "conanfile.*",
        "sconscript*",
    ),
    *("sitecustomize*", "usercustomize*", "__pycache__", "requirements*.txt", "constraints*.txt", "environment.y*ml"),
    # Of JavaScript.
    *(
        "package*.json",
        "composer*.json",
        "deno.json*",
        "biome.json*",
        "tslint.json*",
        "node_modules",
        "jest.*",
        "jest-*",
    ),
    *(
        "vitest.*",
        "karma.*",
        "webpack.*",
        "rollup.*",
        "gulpfile.*",
        "gruntfile.*",
        "setuptests.*",
        "nx.json",
        "turbo.json",
    ),
    *(
        "lerna.json",
        "angular.json",
        "nodemon.json",
        "vercel.json",
        "bower.json",
        "project.json",
        "global.json",
        "dprint.json",
    ),
    *(
        "renovate.json*",
        "cspell.*",
        "jsr.json*",
        "elm.json",
        "vcpkg.json",
        "dub.json",
        "cmakepresets.json",
        "pnpm-*.y*ml",
    ),
    *(
        "cmakeuserpresets.json",
        "launchsettings.json",
        "appsettings*.json",
        "import_map.json",
        "*-lock.json",
        "import-map.json",
    ),
    # Of other languages and of build tools.
    *("build.rs", "build.zig*", "build.s*", "build.xml", "build.y*ml", "mix.exs", "*.cabal", "package.*", "stack.y*ml"),
    *(
        "shard.y*ml",
        "pom.xml",
        "ivy.xml",
        "testng*.xml",
        "*checkstyle*.xml",
        "phpunit*.xml",
        "phpcs*.xml",
        "psalm*.xml",
    ),
    *("phpmd*.xml", "*ruleset*.xml", "pmd*.xml", "spotbugs*.xml", "logback*.xml", "log4j*", "detekt*.y*ml", "deps.edn"),
    *("bootstrap.php", "phpstan*", "rakefile*", "config.ru", "config.y*ml", "*_helper.rb", "makefile*", "gnumakefile*"),
    *("cmakelists.txt", "meson.build", "taskfile.*", "justfile*", "dockerfile*", "jenkinsfile*", "vagrantfile*"),
    *("gemfile*", "go.*", "tox.*", "pubspec*.y*ml", "buf.*", "buf.gen.*", "lefthook*", "mkdocs.y*ml"),
    *("docker-compose*.y*ml", "compose*.y*ml", "chart.y*ml", "kustomization.y*ml", "skaffold.y*ml", "serverless.*"),
    *("azure-pipelines*.y*ml", "cloudbuild*.y*ml", "appveyor.y*ml", "codecov.y*ml", "galaxy.y*ml", "helmfile*.y*ml"),
    *("redocly.y*ml", "spectral.y*ml", "sqlfluff*", "ruff.*", "mypy.*", "pylint*", "flake8*", "eslint*", "prettier*"),
    *(
        "stylelint*",
        "yamllint*",
        "markdownlint*",
        "clippy.*",
        "rustfmt.*",
        "swiftlint*",
        "golangci*",
        "tflint*",
        "hadolint*",
    ),
)
_CONFIGURATION_NAME: Final = re.compile("|".join(map(translate, _CONFIGURATION)))
_TOOL_ENDINGS: Final = ("file", "rc")
_TOOL_NAMES: Final = frozenset({"build", "workspace", "configure", "kbuild", "kconfig", "gradlew", "mvnw", "wscript"})


@lru_cache(maxsize=100_000)
def is_configuration(name: str) -> bool:
    """Return whether tools look for files or folders of a name, to be set up or extended by them.

    >>> [name for name in ("ruff.toml", "Cargo.toml", ".eslintrc", "build.rs", "total.csv") if is_configuration(name)]
    ['ruff.toml', 'Cargo.toml', '.eslintrc', 'build.rs']
    """
    return _CONFIGURATION_NAME.match(name.casefold()) is not None


def is_result(name: str, *, with_code: bool) -> bool:
    """Return whether a file is by its name data, a document, or source code."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return name == name.casefold() and not name.endswith(_TOOL_ENDINGS) and name not in _TOOL_NAMES
    suffix = f".{ending.casefold()}"
    return bool(stem) and (suffix in _DATA or (with_code and suffix in _SOURCES))


def is_source(path: str) -> bool:
    """Return whether a file is by its ending source code of some language."""
    return f".{path.rpartition('.')[2].casefold()}" in _SOURCES
