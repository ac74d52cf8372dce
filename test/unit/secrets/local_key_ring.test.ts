import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadOrCreateLocalKeyRing } from '#services/local/start/config.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-secrets-'));
});
afterEach(() => rm(directory, { recursive: true }));

const fingerprint = async (at: string): Promise<string> =>
  (await loadOrCreateLocalKeyRing(at)).first.fingerprint.toString('hex');

describe('the local key ring', () => {
  it('is made once, in a folder made for it, readable by its owner only', async () => {
    const folder = join(directory, 'a', 'b');
    const first = await fingerprint(folder);
    expect((await stat(join(folder, 'secrets.keys'))).mode & 0o777).toBe(0o600);
    expect(await fingerprint(folder)).toBe(first);
  });

  it('is one key for processes that start together, and nothing else is left behind', async () => {
    const fingerprints = await Promise.all(Array.from({ length: 8 }, () => fingerprint(directory)));
    expect(new Set(fingerprints).size).toBe(1);
    expect(await readdir(directory)).toEqual(['secrets.keys']);
  });

  it('differs between installations', async () => {
    expect(await fingerprint(join(directory, 'a'))).not.toBe(await fingerprint(join(directory, 'b')));
  });

  it('is never replaced when it cannot be read', async () => {
    await writeFile(join(directory, 'secrets.keys'), 'half a key');
    await expect(loadOrCreateLocalKeyRing(directory)).rejects.toMatchObject({ code: 'secrets_keys_malformed' });
    expect(await readFile(join(directory, 'secrets.keys'), 'utf8')).toBe('half a key');
  });

  it('passes on any other failure to read', async () => {
    await writeFile(join(directory, 'file'), '');
    await expect(loadOrCreateLocalKeyRing(join(directory, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
