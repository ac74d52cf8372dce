import { describe, expect, it } from 'vitest';
import { readOptions } from '#services/local/demo/config.ts';
import { SITE_SLOTS } from '#services/local/demo/world/demo_event.ts';
import { createWorld } from '#services/local/demo/world/demo_world.ts';
import { runPrefix } from '#services/local/demo/world/people.ts';

const OPTIONS = { seed: 5, run: 'first', visitors: 300, endsAt: Date.UTC(2026, 10, 20, 21) };

interface Body {
  events: {
    event: string;
    uuid: string;
    distinct_id?: string;
    timestamp: string;
    properties: Record<string, unknown>;
  }[];
}

function bodies(world: ReturnType<typeof createWorld>): Body['events'] {
  return world.requests.flatMap(({ body }) => (JSON.parse(body) as Body).events);
}

describe('createWorld', () => {
  it('gives the same bytes for the same options', () => {
    expect(createWorld(OPTIONS)).toEqual(createWorld({ ...OPTIONS }));
  });

  it('gives another day for another seed', () => {
    const names = (seed: number) => bodies(createWorld({ ...OPTIONS, seed })).map(({ event }) => event);
    expect(names(5)).not.toEqual(names(6));
  });

  it('gives the same deeds under other ids and addresses for another run', () => {
    const first = bodies(createWorld(OPTIONS));
    const second = bodies(createWorld({ ...OPTIONS, run: 'second' }));
    expect(second.map(({ event, timestamp }) => [event, timestamp])).toEqual(
      first.map(({ event, timestamp }) => [event, timestamp]),
    );
    const shared = (of: (event: Body['events'][number]) => unknown): unknown[] => {
      const known = new Set(first.map(of));
      return second.map(of).filter((value) => value !== undefined && known.has(value));
    };
    expect(shared(({ uuid }) => uuid)).toEqual([]);
    expect(shared(({ distinct_id }) => distinct_id)).toEqual([]);
    expect(shared(({ properties }) => properties['email'])).toEqual([]);
  });

  it('makes about 20,000 events by default', () => {
    const { visitors, seed } = readOptions([], 0);
    const { sent } = createWorld({ ...OPTIONS, visitors, seed }).ledger.totals;
    expect(sent).toBeGreaterThan(19_000);
    expect(sent).toBeLessThan(21_500);
  });

  it('puts the run into every event id and uses an id for one event only', () => {
    const world = createWorld(OPTIONS);
    const ids = bodies(world).map(({ uuid }) => uuid.toLowerCase());
    expect(ids.filter((id) => !id.startsWith(runPrefix(world.identity)))).toEqual([]);
    const namesById = Map.groupBy(bodies(world), ({ uuid }) => uuid.toLowerCase());
    const accepted = SITE_SLOTS.flatMap((slot) => [...world.ledger.sites[slot].unique.values()]);
    const wrong = accepted.filter(({ eventId, name }) => namesById.get(eventId)?.some(({ event }) => event !== name));
    expect(wrong).toEqual([]);
  });

  it('holds no address or number of anyone real', () => {
    const emails = bodies(createWorld(OPTIONS)).flatMap(({ properties }) =>
      typeof properties['email'] === 'string' ? [properties['email']] : [],
    );
    expect(emails.length).toBeGreaterThan(50);
    expect(emails.filter((email) => !email.trim().toLowerCase().endsWith('@example.com'))).toEqual([]);
  });

  it('keeps every event of the day within the 24 hours, but for those that come late', () => {
    const world = createWorld(OPTIONS);
    const times = SITE_SLOTS.flatMap((slot) => [...world.ledger.sites[slot].unique.values()]).map(
      ({ at }) => OPTIONS.endsAt - at,
    );
    expect(Math.min(...times)).toBeGreaterThan(0);
    expect(times.filter((age) => age > 86_400_000).length).toBeGreaterThan(0);
    expect(times.filter((age) => age > 86_400_000).length / times.length).toBeLessThan(0.03);
  });
});
