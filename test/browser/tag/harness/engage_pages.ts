import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { contentOf } from '#pipelines/engage/content.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { readDefinition } from '#pipelines/engage/site_engage.ts';
import { until } from '#test/harness/until.ts';
import type { TagWorld } from './tag_world.ts';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'];

/** A definition as the edge hands it out. */
export function handedOut(kind: EngageKind, given: Record<string, unknown> & { id: string }, locale = 'en'): object {
  const read = readDefinition(kind, { name: given.id, ...given });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return { ...(JSON.parse(`${contentOf(kind, 1, read.definition, locale)}}`) as object), token: `token-${given.id}` };
}

/** The site shows these from now on, on every page. `over`: names of what is for none of them. */
export function showOn(world: TagWorld, items: readonly object[], over: readonly string[] = []): void {
  world.edge.replies['/v1/engage'] = { items, over, next_check_ms: 60_000 };
}

/** A body of one of the routes, as far as tests look at it. */
export interface Told {
  status?: string;
  action?: string;
  submission_id?: string;
  revision?: number;
  impression_id?: string;
  token: string;
  answers?: { question_id: string; value: unknown }[];
  fields?: Record<string, unknown>;
  consent?: object;
  open?: string[];
  seen?: Record<string, { n: number; done?: number }>;
  page: { url: string };
  visitor: Record<string, unknown>;
}

/** What was sent to a route so far, of requests that came whole. */
export const toldTo = (world: TagWorld, path: string): Told[] =>
  world.edge.requests
    .filter(({ method, url }) => method === 'POST' && url.startsWith(`/v1/${path}?`))
    .map(({ body }) => JSON.parse(body) as Told);

/** Waits for so many requests to a route. */
export const told = (world: TagWorld, path: string, count: number): Promise<Told[]> =>
  until(
    `${count} to ${path}`,
    () => toldTo(world, path),
    ({ length }) => length >= count,
    { timeoutMs: 10_000 },
  );

/** What axe-core finds on the page, in its open shadow roots as well, as `rule: element`. The page's policy must let it in. */
export async function axeFinds(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (values) => {
    const axe = (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe;
    const { violations } = await axe.run({ runOnly: { type: 'tag', values } });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }, RULES);
}
interface AxeResults {
  violations: { id: string; nodes: { html: string }[] }[];
}

/** Adds up from now on what moves on the page without a key or a click, as the browser itself measures it. */
export const watchShifts = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    Object.assign(window, { shifted: 0 });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
        if (!entry.hadRecentInput) (window as unknown as { shifted: number }).shifted += entry.value;
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });

export const shiftsOf = (page: Page): Promise<number> =>
  page.evaluate(() => (window as unknown as { shifted: number }).shifted);
