# Clones this repository, with all its history, and checks it out. The repository lies elsewhere, in memory.
set -eu
case $1 in
prepare) git clone -q --bare "$2" /tmp/record-traces.git; git -C /tmp/record-traces.git repack -adq ;;
run)
    git clone -q --no-hardlinks file:///tmp/record-traces.git clone
    sync
    rm -rf /tmp/record-traces.git
    ;;
esac
