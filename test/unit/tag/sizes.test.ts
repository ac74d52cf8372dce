import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundle } from '#infra/bundler/bundle.ts';
import { TAG_SOURCES } from '#services/edge/tag_files/routes.ts';

const BUDGETS: Record<string, [gzip: number, brotli: number]> = {
  'svc.min.js': [6144, 5632],
  'svc.mjs': [6144, 5632],
  'svc-engage.min.js': [9216, 8448],
  'svc-vitals.min.js': [1280, 1152],
  'svc-routes.min.js': [512, 448],
  'svc-definitions.min.js': [3072, 2816],
  'svc-inventory.min.js': [3072, 2816],
  'svc-vendors.min.js': [3584, 3328],
  'svc-offline.min.js': [1536, 1408],
  'svc-tcf.min.js': [512, 448],
  'svc-pick.min.js': [6144, 5632],
};

test.for(TAG_SOURCES)('$name is no larger than docs/tag.md says', async ({ name, ...options }) => {
  const bytes = await bundle(options);
  const [gzip, brotli] = BUDGETS[name] as [number, number];
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(gzip);
  expect(brotliCompressSync(bytes).length).toBeLessThanOrEqual(brotli);
});

test('the stub has at most 400 bytes, and docs/tag.md shows it as it is', async () => {
  const folder = new URL('../../../', import.meta.url);
  const entry = fileURLToPath(new URL('services/tag/stub.js', folder));
  const stub = Buffer.from(await bundle({ entry, format: 'iife' }))
    .toString()
    .trim();
  expect(stub.length).toBeLessThanOrEqual(400);
  expect(readFileSync(new URL('docs/tag.md', folder), 'utf8')).toContain(stub);
});
