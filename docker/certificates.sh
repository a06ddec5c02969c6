#!/bin/sh
# Makes what compose.tls.yaml needs, with openssl: an authority, a certificate for the servers and one for workers and
# operators. They are for trying out, and good for 30 days; an authority of your own goes to the same files.
#
#   docker/certificates.sh [FOLDER]        docker/tls, if none is named
set -eu
umask 077

folder=${1:-$(dirname "$0")/tls}
mkdir -p "$folder"
cd "$folder"

# key FILE makes a private key. Containers read it as users of their own, so it is readable, in a folder that is not.
key() {
  openssl ecparam -name prime256v1 -genkey -noout -out "$1"
  chmod 0644 "$1"
}

# certificate NAME SUBJECT EXTENSIONS makes NAME.key and NAME.crt, signed by the authority.
certificate() {
  key "$1.key"
  openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
  printf '%s\n' "$3" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.crt" 2>"$1.log" ||
    { cat "$1.log" >&2 && exit 1; }
  chmod 0644 "$1.crt"
  rm "$1.csr" "$1.ext" "$1.log"
}

key ca.key
chmod 0600 ca.key # nobody but us signs
openssl req -new -x509 -key ca.key -days 30 -subj '/CN=hilo for trying out' -out ca.crt
chmod 0644 ca.crt

certificate server redis 'subjectAltName = DNS:north, DNS:south, DNS:localhost
extendedKeyUsage = serverAuth, clientAuth'
certificate client hilo 'extendedKeyUsage = clientAuth'
echo "The certificates are in $(pwd)."
