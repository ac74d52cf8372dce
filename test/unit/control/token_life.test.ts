import { expect, test } from 'vitest';
import { control, NOW_MS } from './harness.ts';

test('a token ends in 90 days, or when that is said, or never where never is said', async () => {
  const world = await control();
  const endOf = async (label: string, body: object) =>
    (await world.call('POST', 'tokens', { body: { label, ...body } })).body.token.expires_at;
  expect(await endOf('unsaid', {})).toBe(NOW_MS + 90 * 86_400_000);
  expect(await endOf('said', { expires_at: NOW_MS + 5 })).toBe(NOW_MS + 5);
  expect(await endOf('never', { expires_at: null })).toBeNull();
});
