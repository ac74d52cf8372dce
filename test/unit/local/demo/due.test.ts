import { describe, expect, it } from 'vitest';
import { dueIds } from '#services/local/demo/compare.ts';
import { createWorld } from '#services/local/demo/world/demo_world.ts';

const ENDS_AT = Date.UTC(2026, 10, 20, 21);
const { ledger } = createWorld({ seed: 2, run: 'eligible', visitors: 1000, endsAt: ENDS_AT });
const events = [...ledger.sites.shop.unique.values()];
const ids = { meta: dueIds('meta', events, ENDS_AT), webhook: dueIds('webhook', events, ENDS_AT) };

describe('dueIds', () => {
  it('gives the webhook everything', () => {
    expect(ids.webhook).toEqual(new Set(events.map(({ eventId }) => eventId)));
  });

  it('gives Meta everything but web events older than seven days, as every event has an identifier of its own', () => {
    const week = 7 * 86_400_000;
    const tooOld = events.filter(({ at, actionSource }) => ENDS_AT - at > week && actionSource !== 'physical_store');
    expect(tooOld.length).toBeGreaterThan(0);
    expect(ids.meta).toEqual(new Set(events.filter((event) => !tooOld.includes(event)).map(({ eventId }) => eventId)));
  });

  it('gives Meta the till sales of nine days ago', () => {
    const late = events.filter(
      ({ at, actionSource }) => ENDS_AT - at > 8 * 86_400_000 && actionSource === 'physical_store',
    );
    expect(late.length).toBeGreaterThan(0);
    expect(late.filter(({ eventId }) => !ids.meta.has(eventId))).toEqual([]);
  });
});
