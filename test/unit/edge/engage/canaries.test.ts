import { expect, it } from 'vitest';
import type { EngageMemoryStore } from '#infra/redis/engage/engage.ts';
import { textsIn } from '#test/harness/byte_search.ts';
import { RAW, READ_MS } from '#test/harness/planted.ts';
import { PLANTED_DEFINITIONS, plantEngage, RAW_CARDS } from '#test/harness/planted_engage.ts';
import { createMemoryOfEngage } from './memory_store.ts';
import { openShopWindow } from './shop_window.ts';

it('what is typed into any text of any body is in no event, no memory and no answer', { timeout: 60_000 }, async () => {
  const noted: unknown[] = [];
  const store = createMemoryOfEngage();
  const engageMemory: EngageMemoryStore = {
    ...store,
    note: async (...note) => {
      noted.push(note);
      return store.note(...note);
    },
  };
  const edge = await openShopWindow({ engageMemory, site: { default_country: 'US' } });
  for (const kind of ['survey', 'promo', 'form'] as const) edge.define(kind, PLANTED_DEFINITIONS[kind]);
  const readIt = async (): Promise<void> => {
    edge.clock.nowMs += READ_MS;
  };
  const { answers, accepted } = await plantEngage(edge.url, edge.browserKey, readIt);
  const raw = [...RAW, ...RAW_CARDS];
  const found = (what: unknown): string[] => textsIn(Buffer.from(JSON.stringify(what)), raw);
  expect(answers.filter(({ status, text }) => ![200, 400, 404].includes(status) || found(text).length > 0)).toEqual([]);
  expect(edge.events().flatMap((event) => (found(event).length > 0 ? [[event.event, ...found(event)]] : []))).toEqual(
    [],
  );
  expect(found(noted)).toEqual([]);
  expect(edge.events()).toHaveLength(accepted);
  // Texts that may be anything, in each of three bodies: what is refused proves nothing.
  expect(accepted).toBeGreaterThan(100);
  for (const path of ['/v1/surveys/respond', '/v1/promos/track', '/v1/form']) {
    const taken = answers.filter(({ what, text }) => what.startsWith(path) && text.includes('"accepted":1'));
    expect(taken.length).toBeGreaterThan(20);
  }
  expect(edge.unknown).toEqual([]);
  await edge.close();
});
