import { describe, expect, it } from 'vitest';
import { processBatch } from '#pipelines/intake/take_event.ts';
import type { BlockRule } from '#schemas/setting.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, CHROME, refusal, server, siteWith, take } from './context.ts';

type Sent = Record<string, unknown>;

function isBlocked(rule: Partial<BlockRule>, event: Sent = {}, context = browser()): boolean {
  const block_rules = [{ kind: 'event', value: '', property: null, ...rule } as BlockRule];
  return refusal({ event: 'page_view', ...event }, { ...context, site: siteWith({ block_rules }) }) === 'blocked';
}

describe('a rule for an address', () => {
  it('holds for the addresses in it', () =>
    checkAll(
      [
        ['203.0.113.9', '203.0.113.9', true],
        ['203.0.113.9', '203.0.113.90', false],
        [' 203.0.113.9 ', '203.0.113.9', true],
        ['203.0.113.9', '::ffff:203.0.113.9', true],
        ['::ffff:203.0.113.9', '203.0.113.9', true],
        ['203.0.113.0/24', '203.0.113.255', true],
        ['203.0.113.0/24', '203.0.114.0', false],
        ['203.0.113.77/24', '203.0.113.1', true],
        ['203.0.113.8/29', '203.0.113.15', true],
        ['203.0.113.8/29', '203.0.113.16', false],
        ['203.0.113.9/32', '203.0.113.9', true],
        ['203.0.113.9/32', '203.0.113.8', false],
        ['0.0.0.0/0', '198.51.100.1', true],
        ['0.0.0.0/0', '2001:db8::1', false],
        ['::ffff:203.0.113.0/120', '203.0.113.7', true],
        ['::ffff:203.0.113.0/120', '203.0.114.7', false],
        ['2001:db8::1', '2001:DB8:0:0::1', true],
        ['2001:db8::/32', '2001:db8:ffff::1', true],
        ['2001:db8::/32', '2001:db9::1', false],
        ['2001:db8:0:8000::/49', '2001:db8:0:ffff::1', true],
        ['2001:db8:0:8000::/49', '2001:db8:0:7fff::1', false],
        ['::/0', '2001:db8::1', true],
        ['::/0', '203.0.113.9', false],
        ['203.0.113.0/33', '203.0.113.9', false],
        ['203.0.113.0/', '203.0.113.9', false],
        ['203.0.113.0/x', '203.0.113.9', false],
        ['203.0.113.0/-1', '203.0.113.9', false],
        ['203.0.113', '203.0.113.9', false],
        ['office', '203.0.113.9', false],
        ['', '203.0.113.9', false],
      ],
      ([value, clientIp, blocked]) => {
        expect(isBlocked({ kind: 'ip', value }, {}, browser({ clientIp }))).toBe(blocked);
      },
    ));

  it('looks at the shopper’s address of a server’s event, at the peer of a browser’s', () => {
    const event = { properties: { client_ip_address: '192.0.2.1' } };
    expect(isBlocked({ kind: 'ip', value: '192.0.2.1' }, event, server())).toBe(true);
    expect(isBlocked({ kind: 'ip', value: '198.51.100.7' }, event, server())).toBe(false);
    expect(isBlocked({ kind: 'ip', value: '198.51.100.7' }, {}, server())).toBe(true);
    expect(isBlocked({ kind: 'ip', value: '192.0.2.1' }, event, browser())).toBe(false);
  });

  it('blocks nothing when no address is known', () => {
    expect(isBlocked({ kind: 'ip', value: '0.0.0.0/0' }, {}, browser({ clientIp: null }))).toBe(false);
  });
});

describe('a rule for a user agent', () => {
  it('holds for the user agents that contain it', () =>
    checkAll(
      [
        ['chrome', true],
        ['CHROME/126', true],
        ['*chrome*', true],
        ['windows*chrome*safari', true],
        ['safari*chrome*windows', false],
        ['firefox', false],
        ['', false],
        ['*', false],
      ],
      ([value, blocked]) => {
        expect(isBlocked({ kind: 'user_agent', value })).toBe(blocked);
      },
    ));
});

describe('a rule for a country', () => {
  it('holds for its country', () =>
    checkAll(
      [
        ['DE', browser(), {}, true],
        [' de ', browser(), {}, true],
        ['FR', browser(), {}, false],
        ['FR', browser(), { country: 'fr' }, false],
        ['FR', browser({ country: null }), { country: 'fr' }, true],
        ['FR', server(), { country: 'fr' }, true],
        ['US', server(), {}, false],
      ],
      ([value, context, properties, blocked]) => {
        expect(isBlocked({ kind: 'country', value }, { properties }, context)).toBe(blocked);
      },
    ));
});

describe('a rule for an event name', () => {
  it('holds for its name', () =>
    checkAll(
      [
        ['page_view', true],
        ['Page_View', false],
        ['page', false],
        ['page*', true],
        ['*view', true],
        ['*', true],
        ['p*v*w', true],
        ['p*x*w', false],
        ['page_v*view', false],
        ['*page_view*', true],
        ['', false],
      ],
      ([value, blocked]) => {
        expect(isBlocked({ kind: 'event', value })).toBe(blocked);
      },
    ));
});

describe('a rule for a property', () => {
  const properties = {
    env: 'staging',
    user: { plan: 'free', level: 3, beta: true },
    'a.b': 'flat',
    value: 12,
    note: null,
  };
  it('holds for values equal to its own', () =>
    checkAll(
      [
        ['env', 'staging', true],
        ['env', 'Staging', false],
        ['user.plan', 'free', true],
        ['user.level', '3', true],
        ['user.beta', 'true', true],
        ['a.b', 'flat', true],
        ['value', '12', true],
        ['note', 'null', false],
        ['user', '[object Object]', false],
        ['user.plan.length', '4', false],
        ['missing', 'undefined', false],
        ['toString', '', false],
        ['__proto__', '', false],
      ],
      ([property, value, blocked]) => {
        expect(isBlocked({ kind: 'property', property, value }, { properties })).toBe(blocked);
      },
    ));
});

describe('a rule for a distinct_id', () => {
  it('looks at the id as it was sent and as it is stored', () => {
    const event = { distinct_id: 'jane@example.com' };
    const stored = take({ event: 'page_view', ...event }).distinct_id;
    expect(isBlocked({ kind: 'distinct_id', value: 'jane@example.com' }, event)).toBe(true);
    expect(isBlocked({ kind: 'distinct_id', value: stored }, event)).toBe(true);
    expect(isBlocked({ kind: 'distinct_id', value: 'other' }, event)).toBe(false);
    expect(isBlocked({ kind: 'distinct_id', value: take({ event: 'page_view' }).distinct_id })).toBe(true);
  });
});

describe('block rules', () => {
  it('drop only what they match, and say so', () => {
    const site = siteWith({ block_rules: [{ kind: 'event', value: 'debug_*', property: null }] });
    const batch = processBatch([{ event: 'a' }, { event: 'debug_x' }, { event: '' }], browser({ site }));
    expect(batch.taken.map(({ event }) => event)).toEqual(['a']);
    expect(batch.dropped).toEqual([{ index: 1, reason: 'blocked' }]);
    expect(batch.rejected).toMatchObject([{ index: 2 }]);
  });

  it('of a changed site count at once', () => {
    const rule: BlockRule = { kind: 'user_agent', value: CHROME, property: null };
    const site = siteWith({ block_rules: [rule] });
    expect(refusal({ event: 'e' }, browser({ site }))).toBe('blocked');
    expect(refusal({ event: 'e' }, browser({ site: { ...site, block_rules: [] } }))).toBeNull();
  });

  it('see an offline-mode site’s events as they were sent', () => {
    const block_rules: BlockRule[] = [{ kind: 'ip', value: '203.0.113.0/24', property: null }];
    expect(refusal({ event: 'e' }, browser({ site: siteWith({ mode: 'offline', block_rules }) }))).toBe('blocked');
  });
});
