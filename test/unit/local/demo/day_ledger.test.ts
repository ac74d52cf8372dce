import { isbot } from 'isbot';
import { describe, expect, it } from 'vitest';
import { type DemoRequest, SITE_SLOTS } from '#services/local/demo/world/demo_event.ts';
import { createWorld } from '#services/local/demo/world/demo_world.ts';

const world = createWorld({
  seed: 3,
  run: 'ledger',
  visitors: 600,
  endsAt: Date.UTC(2026, 10, 20, 21),
  blockedIps: { shop: '198.51.100.66' },
});
const { totals, sites } = world.ledger;

function eventsIn({
  body,
}: DemoRequest): { uuid: string; distinct_id?: string; properties: Record<string, unknown> }[] {
  return (JSON.parse(body) as { events: { uuid: string; properties: Record<string, unknown> }[] }).events;
}

function sum(of: (request: DemoRequest) => number): number {
  return world.requests.reduce((total, request) => total + of(request), 0);
}

describe('the ledger', () => {
  it('accounts for every event sent', () => {
    expect(totals.sent).toBe(totals.accepted + totals.rejected + totals.filtered + totals.refused + totals.dropped);
    expect(totals.sent).toBe(sum((request) => eventsIn(request).length));
    expect(totals.sent).toBe(sum(({ eventCount }) => eventCount));
  });

  it('agrees with what each request expects', () => {
    expect(totals.accepted).toBe(sum(({ expect: due }) => due.accepted));
    expect(totals.rejected).toBe(sum(({ expect: due }) => due.rejected));
    expect(totals.requests).toBe(world.requests.length);
  });

  it('holds each accepted id once, and the duplicates are the rest', () => {
    const unique = SITE_SLOTS.reduce((total, slot) => total + sites[slot].unique.size, 0);
    expect(totals.accepted - unique).toBe(totals.duplicates);
    expect(totals.duplicates).toBeGreaterThan(50);
  });

  it.each(SITE_SLOTS)('adds up per event name on %s', (slot) => {
    const named = [...sites[slot].byName.values()].reduce((total, count) => total + count, 0);
    expect(named).toBe(sites[slot].unique.size);
  });

  it.each(SITE_SLOTS)('has a funnel on %s in which nobody enters half way', (slot) => {
    const { funnel, people } = sites[slot];
    expect(funnel).toEqual(funnel.toSorted((a, b) => b - a));
    expect(funnel[0]).toBeLessThanOrEqual(people);
    expect(funnel.at(-1)).toBeGreaterThan(0);
  });

  it('has fewer people than visitors, as devices and tills are joined', () => {
    for (const slot of SITE_SLOTS) {
      const visitors = new Set([...sites[slot].unique.values()].map(({ visitor }) => visitor));
      expect(sites[slot].people).toBeLessThan(visitors.size);
    }
  });
});

describe('the traffic', () => {
  const byBrowser = world.requests.filter(({ caller }) => caller === 'browser');
  const refused = world.requests.filter(({ expect: due }) => due.status === 413);

  it('keeps to the limits of a request, but for the one that is refused', () => {
    expect(refused.map(({ eventCount }) => eventCount)).toEqual([51]);
    const others = world.requests.filter((request) => !refused.includes(request));
    expect(Math.max(...others.map(({ eventCount }) => eventCount))).toBeLessThanOrEqual(50);
    expect(Math.max(...world.requests.map(({ body }) => Buffer.byteLength(body)))).toBeLessThan(256 * 1024);
  });

  it('has a request of which some events are rejected and one of which all are', () => {
    const damaged = world.requests.filter(({ expect: due }) => due.rejected > 0);
    expect(damaged.length).toBe(2);
    expect(new Set(damaged.map(({ expect: due }) => due.status))).toEqual(new Set([200, 400]));
  });

  it('has bots that give themselves away, and no visitor who looks like one', () => {
    const quiet = byBrowser.filter(
      ({ headers, expect: due }) =>
        due.status === 200 && due.accepted + due.rejected === 0 && !('sec-purpose' in headers),
    );
    const bots = quiet.filter(({ headers }) => headers['x-forwarded-for'] !== '198.51.100.66');
    expect(bots.length).toBeGreaterThan(5);
    expect(bots.filter(({ headers }) => !isbot(headers['user-agent']))).toEqual([]);
    const visitors = byBrowser.filter(({ expect: due }) => due.accepted > 0);
    expect(visitors.filter(({ headers }) => isbot(headers['user-agent']))).toEqual([]);
  });

  it('comes from a blocked address only where one is named', () => {
    const blocked = byBrowser.filter(({ headers }) => headers['x-forwarded-for'] === '198.51.100.66');
    expect(blocked.length).toBeGreaterThan(0);
    expect(new Set(blocked.map(({ siteSlot }) => siteSlot))).toEqual(new Set(['shop']));
  });

  it('sends the same purchases from browser and server, under one uuid', () => {
    const ids = (caller: DemoRequest['caller']) =>
      new Set(
        world.requests
          .filter((request) => request.caller === caller)
          .flatMap((request) => eventsIn(request).map(({ uuid }) => uuid)),
      );
    const byServer = ids('server');
    expect([...ids('browser')].filter((id) => byServer.has(id)).length).toBeGreaterThan(20);
  });

  it('reports offline sales with the browser distinct id, and with an e-mail or a phone number only', () => {
    const sales = world.requests
      .flatMap(eventsIn)
      .filter(({ properties }) => '$action_source' in properties && properties['$action_source'] !== 'carrier_pigeon');
    const browserIds = new Set(byBrowser.flatMap(eventsIn).map(({ distinct_id }) => distinct_id));
    expect(
      sales.filter(({ distinct_id }) => distinct_id !== undefined && browserIds.has(distinct_id)).length,
    ).toBeGreaterThan(2);
    expect(
      sales.filter(({ distinct_id, properties }) => distinct_id === undefined && 'email' in properties).length,
    ).toBeGreaterThan(2);
    expect(
      sales.filter(({ distinct_id, properties }) => distinct_id === undefined && 'phone' in properties).length,
    ).toBeGreaterThan(0);
    expect(sales.filter(({ properties }) => !('email' in properties) && !('phone' in properties))).toEqual([]);
  });

  it('gives a visitor without a cookie an address and user agent of their own, and one request', () => {
    const anonymous = byBrowser.filter(
      (request) =>
        request.expect.accepted > 0 && eventsIn(request).some(({ distinct_id }) => distinct_id === undefined),
    );
    const senders = anonymous.map(
      ({ siteSlot, headers }) => `${siteSlot} ${headers['x-forwarded-for']} ${headers['user-agent']}`,
    );
    expect(senders.length).toBeGreaterThan(5);
    expect(new Set(senders).size).toBe(senders.length);
  });
});
