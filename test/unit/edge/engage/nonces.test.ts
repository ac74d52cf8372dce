import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createNonces } from '#services/edge/engage/routes.ts';

it('nonces have 12 characters of base64url, each its own random bytes, drawn many at a time', () => {
  let draws = 0;
  const next = createNonces((bytes) => {
    draws += 1;
    return randomBytes(bytes);
  });
  const nonces = Array.from({ length: 1_000 }, next);
  expect(new Set(nonces).size).toBe(1_000);
  expect(nonces.filter((nonce) => !/^[A-Za-z0-9_-]{12}$/.test(nonce))).toEqual([]);
  expect(draws).toBe(4);
});
