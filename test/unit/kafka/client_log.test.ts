import { type LogEntry, logLevel } from 'kafkajs';
import { expect, test } from 'vitest';
import { forward } from '#infra/kafka/client.ts';

const CONCURRENT =
  'The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing';

test.each([
  [logLevel.ERROR, 'Response Heartbeat(key: 12, version: 3)', 'The group is rebalancing', 'warn'],
  [logLevel.ERROR, 'Response AddOffsetsToTxn(key: 25, version: 1)', CONCURRENT, 'debug'],
  [logLevel.WARN, 'Restarting', undefined, 'info'],
])('of level %i the line %j with the error %j is a %s line', (level, message, error, expected) => {
  const lines: unknown[] = [];
  const to = (name: string) => (_facts: object, text: string) => void lines.push([name, text]);
  const entry = { level, label: '', namespace: 'Connection', log: { message, error } } as unknown as LogEntry;
  forward({ warn: to('warn'), info: to('info'), debug: to('debug') } as never, entry);
  expect(lines).toEqual([[expected, message]]);
});
