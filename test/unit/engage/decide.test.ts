import { describe, expect, it } from 'vitest';
import { decide, type EngageMemory, fitting, inShare, type Look, type SeenItem } from '#pipelines/engage/decide.ts';
import { siteEngage } from '#pipelines/engage/site_engage.ts';
import { readPageAddress } from '#pipelines/settings/url_pattern.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { engageItem } from './ready.ts';
import { PROMO } from './samples.ts';

const NOW_MS = Date.UTC(2026, 10, 24);
const DAY_MS = 86_400_000;
const SECRET = Buffer.alloc(32, 7);

/** Somebody who looks at a page, and what their shares are drawn by. */
interface Looking extends Look {
  shareId: string;
}

function look(changes: Partial<Looking> & { url?: string } = {}): Looking {
  const { url = 'https://shop.example/cart?step=2', ...rest } = changes;
  const page = readPageAddress(url);
  if (page === null) throw new Error('no address');
  const consent = { analytics: false, ads: false };
  const nobody = { device: null, locale: null, country: null, consent, anonymous: false, shareId: 'v' };
  return { page, ...nobody, nowMs: NOW_MS, ...rest };
}

interface Known {
  browser?: Record<string, Partial<SeenItem>>;
  server?: Partial<EngageMemory> | null;
}

/** Ids of what is shown of these promos. */
function shown(promos: object[], about: Looking = look(), { browser = {}, server = {} }: Known = {}): string[] {
  const { items } = siteEngage(promos.map((promo, at) => engageItem('promo', { ...PROMO, id: `p${at}`, ...promo })));
  const seen = new Map(
    Object.entries(browser).map(([name, item]) => [name, { times: 1, lastMs: 0, doneMs: null, ...item }]),
  );
  const memory = server === null ? null : { personId: 'p', seen: new Map(), events: new Map(), ...server };
  return decide(inShare(fitting(items, about), about.shareId, SECRET), about, seen, memory).map(({ id }) => id);
}

const isShown = (promo: object, about?: Looking, known?: Known): boolean => shown([promo], about, known).length === 1;

describe('an item is shown', () => {
  it('to those whom its rules mean', () =>
    checkAll<[object, Partial<Look> & { url?: string }, boolean]>(
      [
        [{}, {}, true],
        [{ enabled: false }, {}, false],
        [{ starts_at: NOW_MS }, {}, true],
        [{ starts_at: NOW_MS + 1 }, {}, false],
        [{ ends_at: NOW_MS }, {}, false],
        [{ ends_at: NOW_MS + 1 }, {}, true],
        [{ targeting: { url_pattern: ['/cart'] } }, {}, true],
        [{ targeting: { url_pattern: ['/blog/*', '/c*'] } }, {}, true],
        [{ targeting: { url_pattern: ['/blog/*'] } }, {}, false],
        [{ targeting: { url_exclude: ['*/cart'] } }, {}, false],
        [{ targeting: { device: ['mobile'] } }, { device: 'mobile' }, true],
        [{ targeting: { device: ['mobile'] } }, { device: 'desktop' }, false],
        [{ targeting: { device: ['mobile'] } }, {}, false],
        [{ targeting: { locale: ['de'] } }, { locale: 'de-AT' }, true],
        [{ targeting: { locale: ['de-AT'] } }, { locale: 'de' }, false],
        [{ targeting: { locale: ['de'] } }, { locale: 'den' }, false],
        [{ targeting: { country: ['BE'] } }, { country: 'BE' }, true],
        [{ targeting: { country: ['BE'] } }, { country: null }, false],
        [{ consent_needed: 'ads' }, {}, false],
        [{ consent_needed: 'ads' }, { consent: { analytics: false, ads: true } }, true],
        [{ consent_needed: 'analytics' }, { consent: { analytics: false, ads: true } }, false],
        [{ share_percent: 0 }, {}, false],
      ],
      ([promo, about, expected]) => {
        expect(isShown(promo, look(about))).toBe(expected);
      },
    ));

  it('the more important first, five at most', () => {
    const promos = [10, 90, 50, 50, 20, 30, 0].map((priority) => ({ priority }));
    expect(shown(promos)).toEqual(['p1', 'p2', 'p3', 'p5', 'p4']);
  });
});

describe('a share', () => {
  const visitors = Array.from({ length: 2_000 }, (_, at) => look({ shareId: `visitor ${at}` }));

  it('is about what was asked for, and a visitor stays in or out', () => {
    const drawn = visitors.map((visitor) => isShown({ share_percent: 30 }, visitor));
    expect(drawn.filter(Boolean).length / 20).toBeGreaterThan(26);
    expect(drawn.filter(Boolean).length / 20).toBeLessThan(34);
    expect(visitors.map((visitor) => isShown({ share_percent: 30 }, visitor))).toEqual(drawn);
  });

  it('grows around those who are in it', () => {
    const small = visitors.filter((visitor) => isShown({ share_percent: 10 }, visitor));
    expect(small.every((visitor) => isShown({ share_percent: 20 }, visitor))).toBe(true);
  });

  it('of one item says nothing of another’s', () => {
    const both = visitors.filter(
      (visitor) => shown([{ share_percent: 50 }, { share_percent: 50 }], visitor).length === 2,
    );
    expect(both.length).toBeGreaterThan(400);
    expect(both.length).toBeLessThan(600);
  });
});

describe('frequency', () => {
  const seen = (changes: Partial<SeenItem>): Record<string, Partial<SeenItem>> => ({ 'promo:p0': changes });

  it('after any other only, where it waits for days: what is shown by the same answer counts', () => {
    const waits = { frequency: { max_times: null, wait_any_days: 30 } };
    expect(shown([waits, waits, {}])).toEqual(['p0', 'p2']);
    expect(shown([{}, waits])).toEqual(['p0']);
  });

  it('is counted by the browser’s memory as by the server’s', () =>
    checkAll<[object, Partial<SeenItem>, boolean]>(
      [
        [{}, { times: 0, lastMs: 0 }, true],
        [{}, { times: 1, lastMs: NOW_MS - 170 * DAY_MS }, false],
        [{ max_times: 2 }, { times: 1, lastMs: NOW_MS }, true],
        [{ max_times: 2 }, { times: 2, lastMs: 0 }, false],
        [{ max_times: null }, { times: 1_000, lastMs: NOW_MS }, true],
        [{ max_times: null, every_days: 2 }, { times: 1, lastMs: NOW_MS - 2 * DAY_MS + 1 }, false],
        [{ max_times: null, every_days: 2 }, { times: 1, lastMs: NOW_MS - 2 * DAY_MS }, true],
        [{ max_times: null }, { times: 1, doneMs: 1 }, false],
        [{ max_times: null, after_done: 3 }, { times: 1, doneMs: NOW_MS - 3 * DAY_MS }, true],
        [{ max_times: null, after_done: 3 }, { times: 1, doneMs: NOW_MS - 3 * DAY_MS + 1 }, false],
        [{ max_times: null, wait_any_days: 1 }, { times: 1, lastMs: NOW_MS - DAY_MS + 1 }, false],
        [{ max_times: null, wait_any_days: 1 }, { times: 1, lastMs: NOW_MS - DAY_MS }, true],
      ],
      ([frequency, changes, expected]) => {
        const item = { times: 1, lastMs: 0, doneMs: null, ...changes };
        expect(isShown({ frequency }, look(), { browser: seen(item) })).toBe(expected);
        expect(isShown({ frequency }, look(), { server: { seen: new Map([['promo:p0', item]]) } })).toBe(expected);
        expect(isShown({ frequency }, look(), { browser: seen(item), server: null })).toBe(expected);
      },
    ));

  it('the stricter of both memories counts', () => {
    const frequency = { max_times: 2, after_done: 'never' };
    const server = { seen: new Map([['promo:p0', { times: 1, lastMs: 0, doneMs: 5 }]]) };
    expect(isShown({ frequency }, look(), { browser: seen({ times: 1 }), server })).toBe(false);
    expect(isShown({ frequency: { max_times: 2 } }, look(), { browser: seen({ times: 2 }), server: {} })).toBe(false);
  });
});

describe('an audience', () => {
  const audience = (conditions: object[]) => ({ targeting: { audience: conditions } });
  const did = (times: number, lastMs: number) => ({ events: new Map([['purchase', { times, lastMs }]]) });

  it('holds whom its filters describe', () =>
    checkAll<[object, Partial<EngageMemory> | null, boolean]>(
      [
        [{ event: 'purchase' }, did(1, NOW_MS), true],
        [{ event: 'purchase' }, {}, false],
        [{ event: 'purchase', times: 2 }, did(1, NOW_MS), false],
        [{ event: 'purchase', within_days: 7 }, did(1, NOW_MS - 7 * DAY_MS), false],
        [{ event: 'purchase', did: false }, {}, true],
        [{ event: 'purchase', did: false }, did(1, NOW_MS), false],
        [{ event: 'purchase', did: false }, null, false],
        [{ event: 'purchase' }, null, false],
      ],
      ([condition, server, expected]) => {
        expect(isShown(audience([condition]), look(), { server })).toBe(expected);
      },
    ));

  it('is all of its conditions', () => {
    const both = audience([{ event: 'purchase' }, { event: 'login' }]);
    expect(isShown(both, look(), { server: did(1, NOW_MS) })).toBe(false);
  });
});

it('a site in offline mode shows only what needs no memory of its visitors', () => {
  const anonymous = look({ anonymous: true });
  expect(isShown({}, anonymous)).toBe(false);
  expect(isShown({ frequency: { max_times: null } }, anonymous)).toBe(true);
  expect(isShown({ frequency: { max_times: null }, share_percent: 50 }, anonymous)).toBe(false);
  expect(isShown({ frequency: { max_times: null, wait_any_days: 1 } }, anonymous)).toBe(false);
});
