import { describe, expect, it } from 'vitest';
import { BREAKER_DEFAULTS, createRejectionTracker, DEAD_IN_A_ROW_MAX } from '#pipelines/delivery/breaker.ts';
import type { Answer, HttpRequest } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { linkedin } from '#pipelines/delivery/destinations/linkedin/adapter.ts';
import { entryOf, NOW_MS } from './entries.ts';
import { answered, metaIds, metaJob, portsOf, webhookJob } from './harness.ts';

const ids = (kind: string, count: number): string[] => Array.from({ length: count }, (_, place) => `${kind}_${place}`);
const all = (count: number, outcome: string): string[] => Array(count).fill(outcome);
const entriesOf = (eventIds: readonly string[]) => eventIds.map((event_id) => entryOf({ event_id }));
const refusingBad = ({ body }: HttpRequest): Answer => answered(body.includes('"bad_') ? 400 : 200, '');

/** A webhook whose receiver answers as it is told. */
function world(platform: (request: HttpRequest) => Answer) {
  const state = { platform };
  const ports = portsOf((request) => state.platform(request));
  const job = async (eventIds: readonly string[], attempt = 1): Promise<string[]> => {
    const outcomes = await deliver(webhookJob({ entries: entriesOf(eventIds), attempt }), ports);
    return outcomes.map(({ outcome }) => outcome);
  };
  return { state, ports, job };
}

describe('one bad client beside good traffic', () => {
  it('costs its own events and nothing else, in one job', async () => {
    const { ports, job } = world(refusingBad);
    expect(await job(ids('first', 30))).toEqual(all(30, 'delivered'));
    expect(await job([...ids('bad', 5), ...ids('good', 20)])).toEqual([...all(5, 'dead'), ...all(20, 'delivered')]);
    expect(ports.breakers.list()).toEqual([]);
    expect(await job(ids('next', 20))).toEqual(all(20, 'delivered'));
  });

  it('costs its own events and nothing else, one a job', async () => {
    const { job } = world(refusingBad);
    await job(['first']);
    for (const id of ids('bad', 10)) expect(await job([id])).toEqual(['dead']);
    expect(await job(['good'])).toEqual(['delivered']);
  });

  it('does not speak for those behind it where nothing was taken before', async () => {
    const { job } = world(refusingBad);
    expect(await job([...ids('bad', 30), ...ids('good', 30)])).toEqual([...all(30, 'dead'), ...all(30, 'delivered')]);
  });

  it('does not speak for other batches of the job', async () => {
    const bare = answered(400, { error: { message: 'x', type: 'OAuthException', code: 100 } });
    const ports = portsOf((request) => {
      const sent = metaIds(request);
      return sent.some((id) => id.startsWith('bad')) ? bare : answered(200, { events_received: sent.length });
    });
    const entries = entriesOf([...ids('bad', 50), ...ids('good', 1000)]);
    const outcomes = await deliver(metaJob({ entries, attempt: 3 }), ports);
    expect(outcomes.slice(50).map(({ outcome }) => outcome)).toEqual(all(1000, 'delivered'));
    expect(outcomes.slice(0, 50).some(({ outcome }) => outcome === 'paused')).toBe(false);
  });

  it('is found dead when it is refused again after others were taken', async () => {
    const { ports, job } = world(refusingBad);
    expect(await job(ids('bad', 5))).toEqual(all(5, 'paused'));
    expect(await job(['good'])).toEqual(['paused']);
    ports.pass(BREAKER_DEFAULTS.brokenOpenMs);
    expect(await job(ids('bad', 5))).toEqual(all(5, 'paused'));
    ports.pass(BREAKER_DEFAULTS.probeMs);
    expect(await job(['good'])).toEqual(['delivered']);
    ports.pass(400_000);
    expect(await job(ids('bad', 5))).toEqual(all(5, 'dead'));
    expect(await job(['good'])).toEqual(['delivered']);
  });

  it('holds nobody behind it in a record that tests whether the destination has healed', async () => {
    const { ports, job } = world(refusingBad);
    const record = [...ids('bad', 20), 'good_0', 'good_1'];
    let outcomes = await job(record.slice(0, 5));
    for (let round = 0; round < 5 && !outcomes.includes('delivered'); round++) {
      ports.pass(BREAKER_DEFAULTS.brokenOpenMs);
      outcomes = await job(record);
    }
    expect(outcomes).toEqual([...all(20, 'dead'), ...all(2, 'delivered')]);
  });
});

describe('a destination that breaks in the middle of traffic', () => {
  it('pauses after a bounded number of dead letters, and all others arrive when it has healed', async () => {
    const { state, ports, job } = world(() => answered(200, ''));
    await job(ids('before', 100));
    state.platform = () => answered(400, '');
    const open = new Set<string>();
    for (const id of ids('during', 60)) {
      for (const attempt of [1, 2, 3]) {
        if (attempt === 1 || open.has(id)) if ((await job([id], attempt))[0] === 'diverted') open.add(id);
      }
    }
    expect(open.size).toBe(60 - DEAD_IN_A_ROW_MAX);
    ports.pass(300_000);
    expect(await job(ids('after', 40))).toEqual(all(40, 'paused'));
    const calls = ports.requests.length;
    for (const id of open) expect(await job([id], 4)).toEqual(['paused']);
    expect(ports.requests).toHaveLength(calls);
    state.platform = () => answered(200, '');
    ports.pass(BREAKER_DEFAULTS.brokenOpenMs);
    expect(await job(ids('after', 40))).toEqual(all(40, 'delivered'));
    for (const id of open) expect(await job([id], 4)).toEqual(['delivered']);
  });

  it('costs no more where it breaks in the middle of a job', async () => {
    let calls = 0;
    const { job } = world(() => answered(calls++ < 30 ? 200 : 400, ''));
    const outcomes = await job(ids('any', 200));
    const count = (wanted: string): number => outcomes.filter((outcome) => outcome === wanted).length;
    expect([count('delivered'), count('dead'), count('diverted')]).toEqual([
      30,
      DEAD_IN_A_ROW_MAX,
      170 - DEAD_IN_A_ROW_MAX,
    ]);
  });

  it('costs few calls where it takes batches', async () => {
    let isBroken = false;
    const bare = answered(400, { error: { message: 'x', type: 'OAuthException', code: 100 } });
    const ports = portsOf((request) => (isBroken ? bare : answered(200, { events_received: metaIds(request).length })));
    const job = async (name: string): Promise<string[]> => {
      const outcomes = await deliver(metaJob({ entries: entriesOf(ids(name, 1000)) }), ports);
      return outcomes.map(({ outcome }) => outcome);
    };
    await job('before');
    isBroken = true;
    const broken = [...(await job('a')), ...(await job('b')), ...(await job('c'))];
    expect(broken.filter((outcome) => outcome === 'dead')).toHaveLength(DEAD_IN_A_ROW_MAX);
    expect(broken.filter((outcome) => outcome === 'diverted')).toHaveLength(3000 - DEAD_IN_A_ROW_MAX);
    expect(ports.requests.length).toBeLessThan(50);
  });

  it('is called seldom while nothing but what it refused is waiting', async () => {
    const { ports, job } = world(() => answered(400, ''));
    for (const id of ids('any', 5)) await job([id]);
    const before = ports.requests.length;
    for (let second = 0; second < 36_000; second += 60) {
      ports.pass(60_000);
      for (const id of ids('any', 5)) expect(await job([id], 4)).toEqual(['paused']);
    }
    // Ten hours: five refusals a minute apart and ten minutes of rest, over and over.
    expect(ports.requests.length - before).toBeLessThan(240);
  });
});

describe('a platform that refuses event by event', () => {
  const rule = { adapter: linkedin, settings: { event_names: 'purchase=12345' }, secrets: { access_token: 't' } };
  const identifiers = { email: 'ab'.repeat(32) };
  function linked() {
    const state = { status: 404 };
    const ports = portsOf(({ body }) => {
      const { elements } = JSON.parse(body) as { elements: unknown[] };
      return answered(200, { elements: elements.map(() => ({ status: state.status })) });
    });
    const job = async (eventIds: readonly string[]): Promise<string[]> => {
      const entries = eventIds.map((event_id) => entryOf({ event_id, event: 'purchase', identifiers }));
      return (await deliver(metaJob({ ...rule, entries }), ports)).map(({ outcome }) => outcome);
    };
    return { state, ports, job };
  }

  it('is not the destination while it takes others', async () => {
    const { state, job } = linked();
    state.status = 201;
    expect(await job(['good'])).toEqual(['delivered']);
    state.status = 404;
    expect(await job(ids('bad', 6))).toEqual(all(6, 'dead'));
    state.status = 201;
    expect(await job(['next'])).toEqual(['delivered']);
  });

  it('is the destination where it takes none, one a call', async () => {
    const { ports, job } = linked();
    for (const id of ids('any', 4)) expect(await job([id])).toEqual(['diverted']);
    expect([await job(['e']), await job(['f'])]).toEqual([['paused'], ['paused']]);
    expect(ports.requests).toHaveLength(5);
  });
});

describe('what is held of a refused event', () => {
  it('makes it dead after another was taken, for a bounded number of events', () => {
    const clock = { nowMs: NOW_MS };
    const site = createRejectionTracker(1, () => clock.nowMs).of('a');
    for (const id of ids('bad', 300)) site.refused('x', id);
    site.taken();
    clock.nowMs += 300_001;
    expect(site.refused('x', 'bad_299')).toBe('event');
    expect([site.isKnown('bad_200'), site.isKnown('bad_199')]).toEqual([true, false]);
    expect(site.refused('x', 'bad_199')).toBe('open');
  });

  it('is no new evidence, until it is refused five times more', () => {
    const site = createRejectionTracker(1, () => NOW_MS).of('a');
    const faults = [...ids('bad', 5), ...ids('bad', 5), 'other'].map((id) => site.refused('x', id));
    expect(faults).toEqual([...all(4, 'open'), 'destination', ...all(4, 'again'), 'destination', 'destination']);
  });
});
