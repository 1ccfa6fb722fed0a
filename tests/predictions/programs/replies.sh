# replies.sh - hiredis reads long replies
package=hiredis
version=0.14.1-3
sources="replies.c alloc.c hiredis.c net.c read.c sds.c"
flags="-D_DEFAULT_SOURCE"
