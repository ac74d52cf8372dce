import { expect, test } from 'vitest';
import type { Destination } from '#schemas/setting.ts';
import { createDeliveries } from '#services/local/start/processes.ts';

const destination = (site_id: string, name: string): Destination => ({
  site_id,
  name,
  enabled: true,
  settings: {},
  secrets: {},
});

test('a delivery starts when the first site has the destination, once', async () => {
  const started: string[] = [];
  const configured: Destination[] = [destination('a', 'meta'), destination('a', 'unwanted')];
  const startConfigured = createDeliveries(
    { destinations: () => configured },
    ['meta', 'tiktok', 'webhook', 'ga4'],
    ['ga4', 'unknown'],
    async (names) => void started.push(...names),
  );
  await startConfigured();
  expect(started).toEqual(['meta', 'ga4']);
  configured.push(destination('b', 'meta'), destination('b', 'webhook'));
  await startConfigured();
  await startConfigured();
  expect(started).toEqual(['meta', 'ga4', 'webhook']);
  configured.length = 0;
  await startConfigured();
  expect(started).toEqual(['meta', 'ga4', 'webhook']);
});
