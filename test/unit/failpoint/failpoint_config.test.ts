import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { type Environment, readSettings } from '#infra/config/environment.ts';
import { FAILPOINT } from '#infra/config/service_config.ts';
import type { ArmedFailpoint } from '#infra/failpoint.ts';

const SCHEMA = Type.Object({ failpoint: FAILPOINT });
const armed = (env: Environment): ArmedFailpoint | null => readSettings(SCHEMA, env).failpoint;
const allowed = { FAILPOINTS_ALLOWED: 'true' };

test('nothing is armed where nothing is set', () => {
  expect(armed({})).toBeNull();
  expect(armed(allowed)).toBeNull();
});

test.for([
  ['stage.after_send', { name: 'stage.after_send', pass: 1, signal: 'SIGKILL' }],
  ['stage.after_send:3', { name: 'stage.after_send', pass: 3, signal: 'SIGKILL' }],
  ['stage.after_send:3:stall', { name: 'stage.after_send', pass: 3, signal: 'SIGSTOP' }],
] as const)('%s is armed in a test', ([text, expected]) => {
  expect(armed({ ...allowed, FAILPOINT: text })).toEqual(expected);
});

test.for(['stage.nowhere', 'stage.after_send:0', 'stage.after_send:x', 'toString'])('%s is refused', (text) => {
  expect(() => armed({ ...allowed, FAILPOINT: text })).toThrow('FAILPOINT must be NAME');
});

test('a process outside tests refuses to be armed', () => {
  expect(() => armed({ FAILPOINT: 'stage.after_send' })).toThrow('FAILPOINTS_ALLOWED must be true');
  expect(() => armed({ FAILPOINT: 'stage.after_send', FAILPOINTS_ALLOWED: 'false' })).toThrow(
    'FAILPOINTS_ALLOWED must be true',
  );
});
