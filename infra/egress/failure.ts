import type { NoAnswerReason } from '#pipelines/delivery/contract.ts';

const REASON_BY_CODE: Record<string, NoAnswerReason> = {
  address_refused: 'address_refused',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  EADDRNOTAVAIL: 'connect',
  ETIMEDOUT: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  UND_ERR_INVALID_ARG: 'invalid_request',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ENODATA: 'dns',
  EPROTO: 'tls',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls',
};

const DNS_CODE = /^EAI_/;
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|SELF_SIGNED|UNABLE_TO_|ERR_OSSL)/;

/** The first error that has a code: Node wraps the failures of several addresses in one error. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : '';
}

/** Why a call got no answer; `reset` if the connection broke in any other way. */
export function reasonOf(error: unknown): NoAnswerReason {
  const code = codeOf(error);
  const known = REASON_BY_CODE[code];
  if (known !== undefined) return known;
  if (DNS_CODE.test(code)) return 'dns';
  return TLS_CODE.test(code) ? 'tls' : 'reset';
}
