import { expect, test } from 'vitest';
import {
  AVAILABLE,
  afterEmptyProbe,
  type Health,
  OUTAGE_DEFAULTS,
  type Outage,
  outagePermit,
  recordOutage,
} from '#pipelines/delivery/breaker.ts';

const CONFIG = OUTAGE_DEFAULTS;
const FAILING: Health = { kind: 'failing', reason: 'http_500' };
const WELL: Health = { kind: 'well' };
const BROKEN: Health = { kind: 'credentials_broken', reason: 'token_invalid' };
const THROTTLED: Health = { kind: 'throttled', reason: 'http_429', retryAfterMs: 1_000 };

const after = (calls: [siteId: string, health: Health][], sites = 20, from: Outage = AVAILABLE, nowMs = 0): Outage =>
  calls.reduce((outage, [siteId, health]) => recordOutage(outage, CONFIG, { siteId, health, sites }, nowMs), from);

const each = (sites: string[], health: Health): [string, Health][] => sites.map((site) => [site, health]);
const SIX = ['a', 'b', 'c', 'a', 'b', 'c'];

test.for<[string, Outage, Outage['kind']]>([
  ['several sites fail, and none is well', after(each(SIX, FAILING)), 'away'],
  ['throttling of every site counts', after(each(SIX, THROTTLED)), 'away'],
  ['one failing site is its own matter', after(each(['a', 'a', 'a', 'a', 'a', 'a', 'a'], FAILING)), 'here'],
  ['so are two of many', after(each(['a', 'b', 'a', 'b', 'a', 'b', 'a'], FAILING)), 'here'],
  ['two are all there are', after(each(['a', 'b', 'a', 'b', 'a', 'b'], FAILING), 2), 'away'],
  [
    'one that is well shows that the platform is there',
    after([...each(SIX.slice(1), FAILING), ['d', WELL], ['a', FAILING]]),
    'here',
  ],
  ['revoked tokens are no outage', after(each(SIX, BROKEN)), 'here'],
])('%s', ([, outage, kind]) => {
  expect(outage.kind).toBe(kind);
});

test('while it is away one batch probes and the others wait; a probe that fails doubles the pause', () => {
  let outage = after(each(SIX, FAILING));
  expect(outagePermit(outage, CONFIG, 1_999).permit).toEqual({ kind: 'wait', notBeforeMs: 2_000 });
  const pauses: number[] = [];
  let nowMs = 2_000;
  for (let probe = 0; probe < 6; probe++) {
    const asked = outagePermit(outage, CONFIG, nowMs);
    expect(asked.permit.kind).toBe('probe');
    expect(outagePermit(asked.outage, CONFIG, nowMs).permit).toEqual({ kind: 'wait', notBeforeMs: nowMs + 250 });
    outage = after([['a', FAILING]], 20, asked.outage, nowMs);
    if (outage.kind !== 'away') throw new Error(outage.kind);
    pauses.push(outage.untilMs - nowMs);
    nowMs = outage.untilMs;
  }
  expect(pauses).toEqual([4_000, 8_000, 15_000, 15_000, 15_000, 15_000]);
  const probing = outagePermit(outage, CONFIG, nowMs).outage;
  expect(after([['b', WELL]], 20, probing, nowMs)).toEqual(AVAILABLE);
});

test('a probe that called nobody makes way for the next at once', () => {
  const { outage } = outagePermit(after(each(SIX, FAILING)), CONFIG, 2_000);
  expect(outagePermit(afterEmptyProbe(outage, CONFIG, false, 2_001), CONFIG, 2_001).permit.kind).toBe('probe');
  const held = afterEmptyProbe(outage, CONFIG, true, 2_001);
  expect(outagePermit(held, CONFIG, 2_001).permit).toEqual({ kind: 'wait', notBeforeMs: 4_001 });
  expect(afterEmptyProbe(AVAILABLE, CONFIG, true, 1)).toEqual(AVAILABLE);
});

test('the wait that one site is asked for keeps the others no longer than an outage does', () => {
  const asked: Health = { kind: 'throttled', reason: 'http_429', retryAfterMs: 3_600_000 };
  const away = after(each(SIX, asked));
  expect(away).toMatchObject({ kind: 'away', untilMs: CONFIG.awayMs });
  const probing = outagePermit(away, CONFIG, CONFIG.awayMs).outage;
  expect(after([['a', asked]], 20, probing, CONFIG.awayMs)).toMatchObject({ kind: 'away', untilMs: 3 * CONFIG.awayMs });
});

test('a probe that is never heard of again is given up', () => {
  const { outage } = outagePermit(after(each(SIX, FAILING)), CONFIG, 2_000);
  expect(outagePermit(outage, CONFIG, 2_000 + CONFIG.probeMs).permit.kind).toBe('probe');
});
