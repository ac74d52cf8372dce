import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestSite } from './test_site.ts';
import { until } from './until.ts';

/** What an edge shows of one survey, promo or form. */
export interface ShownItem {
  kind: string;
  id: string;
  version: number;
  token: string;
  content: Record<string, unknown>;
}

export const ENGAGE_PAGE = { url: 'https://shop.example/cart?utm_source=newsletter', title: 'Cart' };

/** Defines a survey, promo or form of a site by the command line, and waits until the edge shows it. */
export async function defineEngage(
  site: TestSite,
  edge: string,
  kind: 'survey' | 'promo' | 'form',
  definition: { id: string },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'engage-'));
  try {
    const file = join(folder, 'definition.json');
    writeFileSync(file, JSON.stringify(definition));
    await site.settings.run(kind, 'save', '--site', site.site, '--file', file);
  } finally {
    rmSync(folder, { recursive: true });
  }
  await until(
    `the edge shows the ${kind}`,
    () => shownTo(edge, site.browserKey, { distinct_id: randomUUID() }),
    (items) => items.some((item) => item.kind === kind && item.id === definition.id),
  );
}

/** What a visitor is shown. */
export async function shownTo(edge: string, key: string, visitor: object): Promise<ShownItem[]> {
  const answer = await postEngage(edge, key, '/v1/engage', { page: ENGAGE_PAGE, visitor });
  return (answer.body as { items?: ShownItem[] }).items ?? [];
}

/** Posts a body as a page's script does. */
export async function postEngage(
  edge: string,
  key: string,
  path: string,
  body: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${edge}${path}?key=${key}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}
