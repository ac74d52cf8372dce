import { describe, expect, it } from 'vitest';
import {
  ask,
  BREAKER_DEFAULTS,
  type Breaker,
  CLOSED,
  createBreakers,
  type Health,
  openBreakers,
  report,
} from '#pipelines/delivery/breaker.ts';

const CONFIG = { ...BREAKER_DEFAULTS, failuresMax: 3, openMs: 1_000, openMsMax: 5_000, brokenOpenMs: 60_000 };
const FAILING: Health = { kind: 'failing', reason: 'http_500' };
const WELL: Health = { kind: 'well' };

const after = (healths: readonly Health[], nowMs: number, from: Breaker = CLOSED): Breaker =>
  healths.reduce((breaker, health) => report(breaker, CONFIG, health, nowMs), from);
const openAt = (nowMs: number): Breaker => after([FAILING, FAILING, FAILING], nowMs);
const probing = (breaker: Breaker, nowMs: number): Breaker => ask(breaker, CONFIG, nowMs).breaker;

describe('a closed breaker', () => {
  it('lets every call through until failures follow one another', () => {
    expect(ask(after([FAILING, FAILING], 0), CONFIG, 0).permit).toEqual({ kind: 'go' });
    expect(ask(after([FAILING, FAILING, WELL, FAILING, FAILING], 0), CONFIG, 0).permit).toEqual({ kind: 'go' });
    expect(ask(openAt(0), CONFIG, 0).permit).toEqual({
      kind: 'wait',
      cause: 'failing',
      reason: 'http_500',
      waitMs: 1_000,
    });
  });
});

describe('an open breaker', () => {
  it('lets one probe through when its time is up, and no other call beside it', () => {
    const asked = ask(openAt(0), CONFIG, 1_000);
    expect(asked.permit).toEqual({ kind: 'probe' });
    expect(ask(asked.breaker, CONFIG, 1_001).permit).toMatchObject({ kind: 'wait', waitMs: CONFIG.probeMs - 1 });
  });

  it('closes when the probe does well', () => {
    expect(report(probing(openAt(0), 1_000), CONFIG, WELL, 1_010)).toEqual(CLOSED);
  });

  it('stays open twice as long each time a probe fails, up to a bound', () => {
    let breaker = openAt(0);
    const waits: number[] = [];
    let nowMs = 1_000;
    for (let probe = 0; probe < 4; probe += 1) {
      breaker = report(probing(breaker, nowMs), CONFIG, FAILING, nowMs);
      const { permit } = ask(breaker, CONFIG, nowMs);
      if (permit.kind !== 'wait') return expect.fail('not open');
      waits.push(permit.waitMs);
      nowMs += permit.waitMs;
    }
    expect(waits).toEqual([2_000, 4_000, 5_000, 5_000]);
  });

  it('gives a probe up that was never reported', () => {
    const lost = probing(openAt(0), 1_000);
    expect(ask(lost, CONFIG, 1_000 + CONFIG.probeMs).permit).toEqual({ kind: 'probe' });
  });

  it('is not closed by a call that was under way when it opened', () => {
    expect(ask(report(openAt(0), CONFIG, WELL, 1), CONFIG, 2).permit.kind).toBe('wait');
  });
});

describe('what a platform says outright', () => {
  it('opens for as long as Retry-After asks, at once', () => {
    const breaker = report(CLOSED, CONFIG, { kind: 'throttled', reason: 'http_429', retryAfterMs: 30_000 }, 0);
    expect(ask(breaker, CONFIG, 29_999).permit).toMatchObject({ kind: 'wait', cause: 'throttled', waitMs: 1 });
    expect(ask(breaker, CONFIG, 30_000).permit.kind).toBe('probe');
  });

  it('counts a throttle without Retry-After as a failure', () => {
    const throttled: Health = { kind: 'throttled', reason: 'http_429', retryAfterMs: null };
    expect(after([throttled, throttled], 0)).toEqual({ kind: 'closed', failures: 2 });
    expect(after([throttled, throttled, throttled], 0).kind).toBe('open');
  });

  it('opens on broken credentials at once, whatever state it is in', () => {
    const broken: Health = { kind: 'credentials_broken', reason: 'meta_190' };
    for (const from of [CLOSED, openAt(0), probing(openAt(0), 1_000)]) {
      const { permit } = ask(report(from, CONFIG, broken, 2_000), CONFIG, 2_000);
      expect(permit).toEqual({ kind: 'wait', cause: 'credentials_broken', reason: 'meta_190', waitMs: 60_000 });
    }
  });
});

describe('the table of breakers', () => {
  it('keeps destinations and sites apart, and forgets what was reset', () => {
    const breakers = createBreakers({ ...CONFIG, failuresMax: 1 }, 10, () => 0);
    breakers.of('meta', 'a').report(FAILING);
    expect(breakers.of('meta', 'a').ask().kind).toBe('wait');
    expect(breakers.of('meta', 'b').ask().kind).toBe('go');
    expect(breakers.of('webhook', 'a').ask().kind).toBe('go');
    expect(breakers.list()).toMatchObject([{ destination: 'meta', siteId: 'a', breaker: { kind: 'open' } }]);
    breakers.reset('meta', 'a');
    expect(breakers.of('meta', 'a').ask().kind).toBe('go');
    expect(breakers.list()).toEqual([]);
  });

  it('holds no more than it may, and takes no room for what is well', () => {
    const breakers = createBreakers(CONFIG, 3, () => 0);
    for (const site of ['a', 'b', 'c', 'd']) breakers.of('meta', site).report(FAILING);
    expect(breakers.list().map(({ siteId }) => siteId)).toEqual(['b', 'c', 'd']);
    for (const site of ['x', 'y', 'z']) breakers.of('meta', site).report(WELL);
    breakers.of('meta', 'c').report(WELL);
    expect(breakers.list().map(({ siteId }) => siteId)).toEqual(['b', 'd']);
  });

  it('counts by cause the sites that are not called, and none that nobody has probed for long', () => {
    const clock = { ms: 0 };
    const breakers = createBreakers({ ...CONFIG, failuresMax: 1 }, 10, () => clock.ms);
    for (const site of ['a', 'b']) breakers.of('meta', site).report(FAILING);
    breakers.of('meta', 'c').report({ kind: 'credentials_broken', reason: 'http_401' });
    breakers.of('meta', 'd').report({ kind: 'throttled', reason: 'throttled', retryAfterMs: 200_000 });
    breakers.of('meta', 'e').report(WELL);
    const counts = () => Object.fromEntries(openBreakers(breakers));
    expect(counts()).toEqual({ failing: 2, throttled: 1, credentials_broken: 1 });
    clock.ms = 180_000;
    expect(counts()).toEqual({ failing: 0, throttled: 1, credentials_broken: 0 });
  });
});
