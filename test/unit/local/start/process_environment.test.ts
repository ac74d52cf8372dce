import { expect, test } from 'vitest';
import type { ProcessLogins } from '#services/local/parts/clickhouse/users.ts';
import { processEnvironment } from '#services/local/start/processes.ts';

const ALL = {
  PATH: '/bin',
  LOG_LEVEL: 'info',
  KAFKA_BROKERS: '127.0.0.1:1',
  REDIS_URL: 'redis://svc:own@127.0.0.1:2',
  CLICKHOUSE_URL: 'http://svc:own@127.0.0.1:3/svc',
  SECRETS_KEYS: 'k:keys',
  IDENTITY_SECRET: 'secret',
  CONTROL_FIRST_PASSWORD_HASH: 'hash',
  DELIVERY_META_BASE_URL: 'http://meta',
  PERSON_MERGE_HOUR: '3',
};
const ELSEWHERE: ProcessLogins = { kafka: null, redis: null, clickhouse: null };

const rest = (name: string): string[] =>
  Object.keys(processEnvironment(name, ALL, ELSEWHERE)).filter((variable) => variable !== 'PATH');

test.for([
  ['edge', ['LOG_LEVEL', 'KAFKA_BROKERS', 'REDIS_URL', 'IDENTITY_SECRET']],
  ['dedup', ['LOG_LEVEL', 'KAFKA_BROKERS', 'REDIS_URL', 'IDENTITY_SECRET']],
  ['warehouse', ['LOG_LEVEL', 'KAFKA_BROKERS', 'CLICKHOUSE_URL', 'IDENTITY_SECRET', 'PERSON_MERGE_HOUR']],
  ['delivery.meta', ['LOG_LEVEL', 'KAFKA_BROKERS', 'SECRETS_KEYS', 'IDENTITY_SECRET', 'DELIVERY_META_BASE_URL']],
  ['delivery.meta.2', ['LOG_LEVEL', 'KAFKA_BROKERS', 'SECRETS_KEYS', 'IDENTITY_SECRET', 'DELIVERY_META_BASE_URL']],
  ['delivery.webhook', ['LOG_LEVEL', 'KAFKA_BROKERS', 'SECRETS_KEYS', 'IDENTITY_SECRET']],
  ['replay', ['LOG_LEVEL', 'KAFKA_BROKERS', 'CLICKHOUSE_URL', 'IDENTITY_SECRET']],
  [
    'erasure',
    [
      'LOG_LEVEL',
      'KAFKA_BROKERS',
      'CLICKHOUSE_URL',
      'REDIS_URL',
      'IDENTITY_SECRET',
      'SECRETS_KEYS',
      'DELIVERY_META_BASE_URL',
      'PERSON_MERGE_HOUR',
    ],
  ],
  ['shop', []],
  ['standin', []],
] as const)('%s gets the variables that it reads', ([name, variables]) => {
  expect(rest(name).sort()).toEqual([...variables].sort());
});

test('processes are users of their own at the parts that run here', () => {
  const passwords = { svc_edge: 'its', svc_control: 'one' };
  const logins: ProcessLogins = {
    kafka: { brokers: '127.0.0.1:9', mechanism: 'scram-sha-256', passwords },
    redis: passwords,
    clickhouse: passwords,
  };
  expect(processEnvironment('edge', ALL, logins)).toEqual({
    PATH: '/bin',
    LOG_LEVEL: 'info',
    KAFKA_BROKERS: '127.0.0.1:9',
    KAFKA_SASL_MECHANISM: 'scram-sha-256',
    KAFKA_SASL_USERNAME: 'svc_edge',
    KAFKA_SASL_PASSWORD: 'its',
    REDIS_URL: 'redis://svc_edge:its@127.0.0.1:2',
    IDENTITY_SECRET: 'secret',
  });
  expect(processEnvironment('control', ALL, logins)).toMatchObject({
    CLICKHOUSE_URL: 'http://svc_control:one@127.0.0.1:3/svc',
    KAFKA_SASL_USERNAME: 'svc_control',
  });
});
