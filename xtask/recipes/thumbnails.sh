# Makes thumbnails of 60 photographs with ImageMagick, one after the other, as a photo library does.
set -eu
PATH=/usr/bin:$PATH
case $1 in
prepare)
    mkdir -p photos thumbs
    for i in $(seq 60); do echo "$i"; done | xargs -P2 -I{} \
        convert -size 1280x960 -seed {} plasma:fractal +noise Gaussian -quality 88 photos/{}.jpg
    ;;
run)
    mogrify -define jpeg:size=512x512 -thumbnail 256x256 -path thumbs photos/*.jpg
    sync
    ;;
esac
