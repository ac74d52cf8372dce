import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKeyRing } from '#infra/secrets/key_ring_config.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-secrets-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('the key ring of a process', () => {
  it('is the configured one, and then nothing is written', async () => {
    const ring = await openKeyRing({ SECRETS_KEYS: `prod:${Buffer.alloc(32).toString('base64')}` }, directory);
    expect(ring.first.keyId).toBe('prod');
    expect(await readdir(directory)).toEqual([]);
  });

  it.each([{}, { SECRETS_KEYS: '' }])('is the local one where none is configured: %o', async (env) => {
    expect((await openKeyRing(env, directory)).first.keyId).toBe('local');
  });

  it('is not replaced by the local one when the configured one is malformed', async () => {
    await expect(openKeyRing({ SECRETS_KEYS: 'x' }, directory)).rejects.toMatchObject({
      code: 'secrets_keys_malformed',
    });
  });
});
