# Makes thumbnails of 150 photographs with ImageMagick, one after the other, as a photo library does.
set -eu
case $1 in
prepare)
    mkdir -p photos thumbs
    for i in $(seq 150); do echo "$i"; done | xargs -P2 -I{} \
        convert -size 1600x1200 -seed {} plasma:fractal +noise Gaussian -quality 88 photos/{}.jpg
    ;;
run)
    mogrify -define jpeg:size=512x512 -thumbnail 256x256 -path thumbs photos/*.jpg
    sync
    ;;
esac
