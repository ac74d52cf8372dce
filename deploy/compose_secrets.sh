#!/bin/sh
# Prints new secrets for deploy/compose.yaml, and on standard error the first admin token, which is shown only once.
set -eu
random() { head -c 32 /dev/urandom | base64; }
letters() { LC_ALL=C tr -dc 0-9A-Za-z </dev/urandom | head -c 32; }
token="svc_at_$(letters)"
echo "CLICKHOUSE_PASSWORD=$(letters)"
echo "SECRETS_KEYS=main:$(random)"
echo "IDENTITY_SECRET=$(random)"
echo "CONTROL_FIRST_TOKEN_SHA256=$(printf %s "$token" | sha256sum | cut -d ' ' -f 1)"
echo "admin token, for SVC_ADMIN_TOKEN: $token" >&2
