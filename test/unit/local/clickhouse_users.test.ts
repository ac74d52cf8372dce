import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { credentialsOf, renderUsers } from '#services/local/parts/clickhouse/users.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'users-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('passwords are made once, kept, and for the owner only', () => {
  const path = join(folder, 'credentials.json');
  const first = credentialsOf(path, ['svc']);
  const second = credentialsOf(path, ['svc', 'analyst']);
  expect(second['svc']).toBe(first['svc']);
  expect(second['analyst']).toMatch(/^[\w-]{24}$/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a user has its grants, its settings and no readable password', () => {
  const analyst = { name: 'analyst', grants: ['SELECT ON svc.*'], settings: { readonly: 1 } };
  const xml = renderUsers([analyst], { analyst: 'secret' });
  expect(xml).toContain('<analyst><readonly>1</readonly></analyst>');
  expect(xml).toContain('<query>GRANT SELECT ON svc.*</query>');
  expect(xml).not.toContain('secret');
});
