// As whom a process signs in at the parts, told so that an old password can be told from a new one, and neither is found by it.

import { hash } from 'node:crypto';
import { readClickhouseLogin } from '#infra/clickhouse/address.ts';
import type { PartsConfig } from '#infra/config/service_config.ts';
import { readRedisAddress } from '#infra/redis/address.ts';

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

/** The logins of a process's settings; where it has none, or has no such part, there is nothing to tell. */
export function loginsIn(parts: Partial<Pick<PartsConfig, 'kafka' | 'redisUrl' | 'clickhouseUrl'>>): Login[] {
  const { kafka, redisUrl, clickhouseUrl } = parts;
  const all = [
    ['kafka', kafka?.sasl ?? null],
    ['redis', redisUrl === undefined ? null : readRedisAddress(redisUrl)],
    ['clickhouse', clickhouseUrl === undefined ? null : readClickhouseLogin(clickhouseUrl)],
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
