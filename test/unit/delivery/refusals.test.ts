import { describe, expect, it } from 'vitest';
import { BREAKER_DEFAULTS, createRejectionTracker, SAME_REJECTION_MIN } from '#pipelines/delivery/breaker.ts';
import type { Answer, HttpRequest } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { linkedin } from '#pipelines/delivery/destinations/linkedin/adapter.ts';
import { entryOf, manyEntries, NOW_MS } from './entries.ts';
import { answered, metaIds, metaJob, portsOf, webhookJob } from './harness.ts';

/** A code that answers a bad field as well as a pixel that does not exist. */
const BARE_100 = answered(400, { error: { message: 'x', type: 'OAuthException', code: 100, fbtrace_id: 'Ab1' } });
const graph = (code: number): Answer => answered(400, { error: { message: 'x', type: 'OAuthException', code } });
const taking = (request: HttpRequest): Answer => answered(200, { events_received: metaIds(request).length });

const refusing =
  (isBad: (id: string) => boolean) =>
  (request: HttpRequest): Answer =>
    metaIds(request).some(isBad) ? BARE_100 : taking(request);

describe('answers about the destination', () => {
  it.each([2635, 104, 3, 463])('as code %i cost one call, and no event its life', async (code) => {
    const ports = portsOf(() => graph(code));
    const outcomes = await deliver(metaJob({ entries: manyEntries(50) }), ports);
    expect(ports.requests).toHaveLength(1);
    expect(new Set(outcomes.map(({ outcome, reason }) => `${outcome} ${reason}`))).toEqual(
      new Set([`paused meta_${code}`]),
    );
  });
});

describe('a refusal that may be about the destination', () => {
  it('pauses it when events from all over the batch are refused alike', async () => {
    const ports = portsOf(() => BARE_100);
    const outcomes = await deliver(metaJob({ entries: manyEntries(50) }), ports);
    expect(ports.requests.map((request) => metaIds(request).length)).toEqual([50, 1, 1, 1, 1, 1]);
    expect(ports.requests.slice(1).flatMap(metaIds)).toEqual([0, 10, 20, 30, 40].map((place) => `event_${place}`));
    expect(new Set(outcomes.map(({ outcome, reason }) => `${outcome} ${reason}`))).toEqual(
      new Set(['paused meta_100']),
    );
    await deliver(metaJob({ entries: manyEntries(50) }), ports);
    expect(ports.requests).toHaveLength(6);
  });

  it('is looked at again as broken credentials are, and resumes when the platform takes an event', async () => {
    let platform: (request: HttpRequest) => Answer = () => BARE_100;
    const ports = portsOf((request) => platform(request));
    await deliver(metaJob({ entries: manyEntries(50) }), ports);
    platform = refusing((id) => id === 'event_0' || id === 'event_7');
    const probe = await later(ports, BREAKER_DEFAULTS.brokenOpenMs, () =>
      deliver(metaJob({ entries: manyEntries(50) }), ports),
    );
    const dead = probe.flatMap(({ outcome }, place) => (outcome === 'dead' ? [place] : []));
    expect(dead).toEqual([0, 7]);
    expect(probe.filter(({ outcome }) => outcome === 'delivered')).toHaveLength(48);
  });

  it.each([1, 2, 4, 5, 6, 50, 1000])('isolates one bad event among %i that are taken', async (count) => {
    const bad = Math.floor(count / 3);
    const ports = portsOf(refusing((id) => id === `event_${bad}`));
    const entries = manyEntries(count);
    // A single event is only known to be at fault once another one was taken.
    if (count === 1) entries.push(entryOf({ event_id: 'good' }));
    const outcomes = await deliver(metaJob({ entries }), ports);
    expect(outcomes.flatMap(({ outcome }, place) => (outcome === 'dead' ? [place] : []))).toEqual([bad]);
    expect(outcomes.filter(({ outcome }) => outcome === 'delivered')).toHaveLength(entries.length - 1);
    expect(ports.requests.length).toBeLessThanOrEqual(3 + 2 * Math.ceil(Math.log2(entries.length)));
  });

  it('delivers every other event exactly once, wherever the bad ones stand', async () => {
    const bad = new Set(['event_0', 'event_1', 'event_2', 'event_20', 'event_21', 'event_49']);
    const taken: string[] = [];
    const ports = portsOf((request) => {
      const ids = metaIds(request);
      if (ids.some((id) => bad.has(id))) return BARE_100;
      taken.push(...ids);
      return taking(request);
    });
    const outcomes = await deliver(metaJob({ entries: manyEntries(50) }), ports);
    expect([taken.length, new Set(taken).size]).toEqual([44, 44]);
    expect(outcomes.filter(({ outcome }) => outcome === 'dead')).toHaveLength(6);
  });

  it('holds one event that is refused alone, which is dead at its third attempt', async () => {
    const ports = portsOf(() => BARE_100);
    const at = async (attempt: number) => (await deliver(metaJob({ attempt }), ports))[0];
    expect(await at(1)).toMatchObject({ outcome: 'diverted', reason: 'meta_100' });
    expect(await at(2)).toMatchObject({ outcome: 'diverted', reason: 'meta_100' });
    expect(await at(3)).toMatchObject({ outcome: 'dead', reason: 'meta_100' });
  });

  it('counts different events over many calls, and none beyond one that was taken', async () => {
    let isTaking = false;
    const ports = portsOf(() => answered(isTaking ? 200 : 400, ''));
    const one = async (event_id: string) => {
      const outcomes = await deliver(webhookJob({ entries: [entryOf({ event_id })] }), ports);
      return outcomes[0]?.outcome;
    };
    for (const id of ['a', 'b', 'c', 'd', 'd', 'd']) expect(await one(id)).toBe('diverted');
    isTaking = true;
    expect(await one('e')).toBe('delivered');
    isTaking = false;
    for (const id of ['f', 'g']) expect(await one(id)).toBe('dead');
    ports.pass(300_000);
    for (const id of ['h', 'i']) expect(await one(id)).toBe('diverted');
    expect([await one('j'), await one('k')]).toEqual(['paused', 'paused']);
    expect(ports.requests).toHaveLength(12);
  });

  it('is not the destination where only some of the events are refused, one a call', async () => {
    const ports = portsOf(({ body }) => answered(/event_[3579]"/.test(body) ? 422 : 200, ''));
    const outcomes = await deliver(webhookJob({ entries: manyEntries(10) }), ports);
    expect(outcomes.map(({ outcome }) => outcome === 'dead')).toEqual(
      Array.from({ length: 10 }, (_, place) => [3, 5, 7, 9].includes(place)),
    );
  });

  it('pauses a rule that a platform refuses event by event', async () => {
    const ports = portsOf((request) => {
      const { elements } = JSON.parse(request.body) as { elements: unknown[] };
      return answered(200, { elements: elements.map(() => ({ status: 404 })) });
    });
    const job = { adapter: linkedin, settings: { event_names: 'purchase=12345' }, secrets: { access_token: 't' } };
    const identifiers = { email: 'ab'.repeat(32) };
    const entries = manyEntries(SAME_REJECTION_MIN, { event: 'purchase', identifiers });
    const outcomes = await deliver(metaJob({ ...job, entries }), ports);
    expect(outcomes.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual(
      Array(SAME_REJECTION_MIN).fill('paused linkedin_event_404'),
    );
    expect(ports.requests).toHaveLength(1);
  });
});

describe('a call whose events were taken in part', () => {
  it('is seen and told, and none of them is sent again', async () => {
    const ports = portsOf(() => answered(200, { events_received: 7, fbtrace_id: 'Ab1' }));
    const outcomes = await deliver(metaJob({ entries: manyEntries(10) }), ports);
    expect(ports.requests).toHaveLength(1);
    expect(outcomes.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual(
      Array(10).fill('delivered taken_in_part'),
    );
    expect(ports.shortfalls).toEqual([{ sent: 10, taken: 7, detail: '7 of 10 received, fbtrace_id Ab1' }]);
  });

  it('of which none were is refused like any other', async () => {
    const ports = portsOf(() => answered(200, { events_received: 0 }));
    const outcomes = await deliver(metaJob({ entries: manyEntries(50) }), ports);
    expect(new Set(outcomes.map(({ outcome, reason }) => `${outcome} ${reason}`))).toEqual(
      new Set(['paused meta_none_received']),
    );
    expect(ports.shortfalls).toEqual([]);
  });
});

describe('what is held of refusals', () => {
  it('is by site and reason, and bounded', () => {
    const rejections = createRejectionTracker(2, () => NOW_MS);
    const refuse = (site: string, reason: string, count: number): string[] =>
      Array.from({ length: count }, (_, place) => rejections.of(site).refused(reason, `${site}_${place}`));
    const open = Array(4).fill('open');
    expect(refuse('a', 'x', 5)).toEqual([...open, 'destination']);
    expect(refuse('a', 'y', 4)).toEqual(open);
    expect([refuse('b', 'x', 4), refuse('c', 'x', 4)]).toEqual([open, open]);
    expect(rejections.of('a').refused('y', 'one more')).toBe('open');
    rejections.of('c').taken();
    expect(refuse('c', 'x', 4)).toEqual(Array(4).fill('event'));
    rejections.reset('c');
    expect(refuse('c', 'x', 4)).toEqual(open);
  });
});

/** Does something when so much time has passed; each call to the platform takes 10 ms. */
async function later<T>(ports: ReturnType<typeof portsOf>, ms: number, work: () => Promise<T>): Promise<T> {
  ports.pass(ms);
  expect(ports.nowMs()).toBeGreaterThan(NOW_MS + ms);
  return work();
}
