import { expect, test } from 'vitest';
import { failpointConfig } from '#infra/failpoint/failpoint_config.ts';

const allowed = { FAILPOINTS_ALLOWED: 'true' };

test('nothing is armed where nothing is set', () => {
  expect(failpointConfig({})).toBeNull();
  expect(failpointConfig(allowed)).toBeNull();
});

test.for([
  ['hop.after_send', { name: 'hop.after_send', pass: 1, signal: 'SIGKILL' }],
  ['hop.after_send:3', { name: 'hop.after_send', pass: 3, signal: 'SIGKILL' }],
  ['hop.after_send:3:stall', { name: 'hop.after_send', pass: 3, signal: 'SIGSTOP' }],
] as const)('%s is armed in a test', ([text, armed]) => {
  expect(failpointConfig({ ...allowed, FAILPOINT: text })).toEqual(armed);
});

test.for(['hop.nowhere', 'hop.after_send:0', 'hop.after_send:x', 'toString'])('%s is refused', (text) => {
  expect(() => failpointConfig({ ...allowed, FAILPOINT: text })).toThrow('FAILPOINT must be one of');
});

test('a process outside tests refuses to be armed', () => {
  expect(() => failpointConfig({ FAILPOINT: 'hop.after_send' })).toThrow('FAILPOINTS_ALLOWED');
  expect(() => failpointConfig({ FAILPOINT: 'hop.after_send', FAILPOINTS_ALLOWED: 'false' })).toThrow(
    'FAILPOINTS_ALLOWED',
  );
});
