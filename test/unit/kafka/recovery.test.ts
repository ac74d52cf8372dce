import { expect, test } from 'vitest';
import { type Recovery, recoveryOf } from '#infra/errors.ts';
import { RedisUnavailableError } from '#infra/redis/client.ts';

const named = (name: string, fields: object = {}): Error => Object.assign(new Error('x'), { name, ...fields });

const CASES: [what: string, error: unknown, recovery: Recovery][] = [
  ['a rebalance', named('KafkaJSProtocolError', { type: 'REBALANCE_IN_PROGRESS' }), 'rejoin'],
  ['an old generation', named('KafkaJSProtocolError', { type: 'ILLEGAL_GENERATION' }), 'rejoin'],
  ['an unknown member', named('KafkaJSProtocolError', { type: 'UNKNOWN_MEMBER_ID' }), 'rejoin'],
  ['a moved coordinator', named('KafkaJSProtocolError', { type: 'NOT_COORDINATOR_FOR_GROUP' }), 'rejoin'],
  ['a fenced producer', named('KafkaJSProtocolError', { type: 'INVALID_PRODUCER_EPOCH' }), 'again'],
  ['retries used up', named('KafkaJSNumberOfRetriesExceeded'), 'again'],
  ['Redis away', new RedisUnavailableError('redis'), 'wait'],
  ['an error that says stop', named('Error', { recovery: 'stop' }), 'stop'],
  ['a mistake of ours', new TypeError('x'), 'stop'],
  ['a thrown text', 'x', 'stop'],
];

test.each(CASES)('%s', (_what, error, recovery) => {
  expect(recoveryOf(error)).toBe(recovery);
});
