#!/bin/sh
# Installs minutehand @VERSION@ for one user, below ~/.local or the folder that is given. It needs no root,
# and changes no settings of a shell:
#
#   sh install.sh [FOLDER]
#
# It downloads the archive of the release for this machine and compares its SHA-256 with the one below.
# MINUTEHAND_RELEASE_URL names another place of the archive, such as a mirror or file:///a/folder.
set -eu

version=@VERSION@
release=${MINUTEHAND_RELEASE_URL:-@REPOSITORY@/releases/download/v$version}

# The SHA-256 of the archive for a kind of machine; nothing if there is none.
sum_of() {
    case $1 in
@SUMS@
    esac
}

fail() {
    echo "error: $*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# The name that Rust has for this kind of machine.
target() {
    case $(uname -m) in
        x86_64 | amd64) cpu=x86_64 ;;
        aarch64 | arm64) cpu=aarch64 ;;
        *) cpu=$(uname -m) ;;
    esac
    case $(uname -s) in
        Linux) echo "$cpu-unknown-linux-gnu" ;;
        Darwin) echo "$cpu-apple-darwin" ;;
        *) echo "$cpu-$(uname -s)" ;;
    esac
}

download() {
    if has curl; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif has wget; then
        wget --quiet --output-document="$2" "$1"
    else
        fail "neither curl nor wget is installed"
    fi
}

digest() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    else
        shasum -a 256 "$1" | cut -d ' ' -f 1
    fi
}

# The last line calls this, so that half a script that was cut off does nothing.
main() {
    prefix=${1:-${HOME:?}/.local}
    target=$(target)
    wanted=$(sum_of "$target")
    [ -n "$wanted" ] || fail "release $version has no archive for $target"
    if [ "$(uname -s)" = Linux ] && ! getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
        fail "this system has another C library than glibc, which minutehand needs"
    fi
    name=minutehand-$version-$target
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    echo "downloading $release/$name.tar.gz"
    download "$release/$name.tar.gz" "$scratch/archive.tar.gz" || fail "the download failed"
    found=$(digest "$scratch/archive.tar.gz")
    [ "$found" = "$wanted" ] || fail "the archive has the SHA-256 $found, not $wanted: nothing is installed"
    echo "its SHA-256 is right: $found"
    tar -xzf "$scratch/archive.tar.gz" -C "$scratch"
    put "$scratch/$name/minutehand" "$prefix/bin" minutehand
    for page in "$scratch/$name/man"/*.1; do
        put "$page" "$prefix/share/man/man1" "$(basename "$page")"
    done
    put "$scratch/$name/completions/minutehand.bash" "$prefix/share/bash-completion/completions" minutehand
    put "$scratch/$name/completions/_minutehand" "$prefix/share/zsh/site-functions" _minutehand
    put "$scratch/$name/completions/minutehand.fish" "$prefix/share/fish/vendor_completions.d" minutehand.fish
    echo "installed $("$prefix/bin/minutehand" --version | cut -d ' ' -f 1,2) as $prefix/bin/minutehand"
    case :$PATH: in
        *:"$prefix/bin":*) ;;
        *) echo "$prefix/bin is not in PATH: add it in the settings of your shell" ;;
    esac
    echo "to begin: minutehand demo, or minutehand serve"
    echo "to remove it: rm -f $prefix/bin/minutehand $prefix/share/man/man1/minutehand*.1" \
        "$prefix/share/bash-completion/completions/minutehand $prefix/share/zsh/site-functions/_minutehand" \
        "$prefix/share/fish/vendor_completions.d/minutehand.fish"
}

# Puts a file into a folder under a name, in one step: a program that runs keeps its file.
put() {
    mkdir -p "$2"
    cp "$1" "$2/.$3.new"
    mv -f "$2/.$3.new" "$2/$3"
}

main "$@"
