# Compiles and links 60 C files with two jobs; compiler, assembler, linker, headers and libraries lie on the drive.
set -eu
case $1 in
prepare)
    gcc=$(dirname "$(gcc -print-libgcc-file-name)")
    mkdir -p tools src root/usr root/lib
    cp -a "$gcc"/. tools/
    cp "$(command -v as)" "$(command -v ld)" tools/
    cp "$(gcc -print-prog-name=cc1)" "$(gcc -print-prog-name=collect2)" tools/
    cp -a /usr/include root/usr/
    for i in $(seq 60); do
        {
            for header in stdio stdlib string math time errno unistd sys/stat sys/socket netinet/in pthread signal locale; do
                echo "#include <$header.h>"
            done
            for f in $(seq 40); do
                echo "static double f${f}(double x, int n) { double s = $i; for (int k = 0; k < n; k++)"
                echo "    s += sqrt(x * k + $f) / (k + 1.5); return s > 1e9 ? sin(s) : s; }"
            done
            echo "double part$i(double x) { double s = 0;"
            for f in $(seq 40); do echo "    s += f${f}(x, $f);"; done
            echo "    printf(\"%f \", s); return s; }"
        } >src/part$i.c
        echo "double part$i(double);" >>src/parts.h
    done
    {
        echo '#include "parts.h"'
        echo 'int main(void) { double s = 0;'
        for i in $(seq 60); do echo "    s += part$i(1.25);"; done
        echo '    return s > 0 ? 0 : 1; }'
    } >src/main.c
    ;;
run)
    mkdir -p obj
    ls src/*.c | xargs -n1 -P2 sh -c \
        'gcc -B"$PWD/tools/" -isystem "$PWD/root/usr/include" -O2 -g -c "$0" -o "obj/$(basename "$0" .c).o"'
    gcc -B"$PWD/tools/" -o program obj/*.o -lm
    ./program >/dev/null
    sync
    ;;
esac
