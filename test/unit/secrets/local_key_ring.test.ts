import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localKeyRing } from '#services/local/start/config.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the local key ring', () => {
  it('is made once, in a folder made for it, readable by its owner only', () => {
    const folder = join(directory, 'a', 'b');
    const first = localKeyRing(folder);
    expect(statSync(join(folder, 'secrets.keys')).mode & 0o777).toBe(0o600);
    expect(localKeyRing(folder)).toBe(first);
  });

  it('differs between installations', () => {
    expect(localKeyRing(join(directory, 'a'))).not.toBe(localKeyRing(join(directory, 'b')));
  });

  it('is never replaced when it cannot be read', () => {
    writeFileSync(join(directory, 'secrets.keys'), 'half a key');
    expect(() => localKeyRing(directory)).toThrow(expect.objectContaining({ code: 'secrets_keys_malformed' }));
    expect(readFileSync(join(directory, 'secrets.keys'), 'utf8')).toBe('half a key');
  });
});
