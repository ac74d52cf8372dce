// As whom a process signs in at the parts, told so that an old password can be told from a new one, and neither is found by it.

import { hash } from 'node:crypto';
import { readClickhouseLogin } from '#infra/clickhouse/servers.ts';
import type { PartsConfig } from '#infra/config/service_config.ts';
import { leadsToSame, readRedisAddress } from '#infra/redis/address.ts';

/** The parts whose users have passwords. */
export const LOGIN_PARTS = ['kafka', 'redis', 'clickhouse'] as const;
export type LoginPart = (typeof LOGIN_PARTS)[number];

export interface Login {
  part: LoginPart;
  user: string;
  digest: string;
}

/** Sixteen bits: one of two passwords is known by them, while of a thousand million guesses 15,000 are left. */
const DIGEST_CHARS = 4;

export const loginDigest = (part: LoginPart, user: string, password: string): string =>
  hash('sha256', JSON.stringify([part, user, password]), 'hex').slice(0, DIGEST_CHARS);

/** What of a process's settings has logins; `sqlUrl` and `analystsUrl` are further users of ClickHouse that control has. */
interface LoginSettings {
  parts: Partial<Pick<PartsConfig, 'kafka' | 'redisUrl' | 'redisSecondaryUrl' | 'clickhouseUrl'>>;
  sqlUrl?: string | null;
  analystsUrl?: string | null;
}

/** The logins of a process's settings; where it has none, or has no such part, there is nothing to tell. */
export function loginsIn({ parts, sqlUrl = null, analystsUrl = null }: LoginSettings): Login[] {
  const { kafka, redisUrl = '', redisSecondaryUrl, clickhouseUrl = null } = parts;
  const isSame = redisSecondaryUrl && leadsToSame(redisUrl, redisSecondaryUrl);
  const all = [
    ['kafka', kafka?.sasl ?? null],
    ...[redisUrl, isSame ? redisSecondaryUrl : ''].map((url) => ['redis', url ? readRedisAddress(url) : null] as const),
    ...[clickhouseUrl, sqlUrl, analystsUrl].map(
      (url) => ['clickhouse', url ? readClickhouseLogin(url) : null] as const,
    ),
  ] as const;
  return all.flatMap(([part, login]) => {
    const { username = 'default', password = '' } = login ?? {};
    return password === '' ? [] : [{ part, user: username, digest: loginDigest(part, username, password) }];
  });
}

/** The address of Redis or ClickHouse as another user. */
export function asLogin(address: string, user: string, password: string): string {
  const login = [user, password].map(encodeURIComponent).join(':');
  return address.replace(/^([a-z+]+:\/\/)(?:[^/?]*@)?/, (_, scheme: string) => `${scheme}${login}@`);
}
