import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEventDefinition, readEventDefinition, TRIGGERS } from '#pipelines/settings/event_definitions.ts';
import { checkAll } from '#test/harness/check_all.ts';

const complete = {
  id: 'buy',
  name: 'purchase',
  trigger: 'click',
  selector: '#buy',
  url_pattern: '/cart*',
  text_contains: 'Buy',
  properties: { plan: { name: 'x', tiers: [1, 2] } },
  conversion_event: 'Purchase',
  destinations: { meta: false, tiktok: true },
  value_selector: '.total',
  field_selectors: { email: '#email' },
  enabled: false,
};
const least = { id: 'buy', name: 'purchase', trigger: 'click' };

describe('an event definition', () => {
  it('is read as it was given', () => {
    expect(readEventDefinition(complete)).toEqual({ ok: true, definition: complete });
    expect(parseEventDefinition(JSON.stringify(complete))).toEqual({ ok: true, definition: complete });
  });

  it('is completed: what may be left out is empty, and it is active', () => {
    expect(readEventDefinition(least)).toEqual({
      ok: true,
      definition: {
        ...least,
        selector: '',
        url_pattern: '',
        text_contains: '',
        properties: {},
        conversion_event: '',
        destinations: {},
        value_selector: '',
        field_selectors: {},
        enabled: true,
      },
    });
  });

  it('may be fired by each of these', () =>
    checkAll(TRIGGERS, (trigger) => {
      expect(readEventDefinition({ ...least, trigger }).ok).toBe(true);
    }));

  it('names what is wrong', () =>
    checkAll(
      [
        [null, 'is not an object'],
        [[], 'is not an object'],
        ['text', 'is not an object'],
        [{ name: 'purchase', trigger: 'click' }, /id/],
        [{ id: 'buy', trigger: 'click' }, /name/],
        [{ id: 'buy', name: 'purchase' }, /trigger/],
        [{ ...least, id: 'Buy' }, /^id /],
        [{ ...least, id: 7 }, /^id /],
        [{ ...least, name: '' }, /^name /],
        [{ ...least, name: ' purchase' }, /^name /],
        [{ ...least, name: 'a'.repeat(201) }, /^name /],
        [{ ...least, trigger: 'hover' }, /^trigger /],
        [{ ...least, selector: null }, /^selector /],
        [{ ...least, selector: 'a'.repeat(1001) }, /^selector /],
        [{ ...least, properties: [] }, /^properties /],
        [{ ...least, properties: { a: 'x'.repeat(9000) } }, /^properties /],
        [{ ...least, conversion_event: 'a\nb' }, /^conversion_event /],
        [{ ...least, destinations: { meta: 'no' } }, /^destinations.meta /],
        [{ ...least, field_selectors: { email: 1 } }, /^field_selectors.email /],
        [{ ...least, enabled: 'yes' }, /^enabled /],
        [{ ...least, secret: 'x' }, /secret/],
      ],
      ([input, message]) => {
        const result = readEventDefinition(input);
        expect(result.ok).toBe(false);
        if (!result.ok) expect(result.message).toMatch(message);
      },
    ));

  it('is refused when it is not JSON', () => {
    expect(parseEventDefinition('{')).toEqual({ ok: false, message: 'is not JSON' });
  });

  it('never throws, whatever JSON is stored', () => {
    fc.assert(fc.property(fc.json(), (text) => typeof parseEventDefinition(text).ok === 'boolean'));
  });
});

describe('an event definition is refused', () => {
  it('with fields that are malformed', () =>
    checkAll(
      [
        ['{"id":"constructor"}'],
        ['{"id":"__proto__"}'],
        ['{"destinations":{"__proto__":true}}'],
        ['{"destinations":{"constructor":true}}'],
        ['{"field_selectors":{"__proto__":"#a"}}'],
        ['{"field_selectors":{"toString":"#a"}}'],
        ['{"properties":{"a":[{"__proto__":{"b":1}}]}}'],
        ['{"name":"mail of jane@shop.example"}'],
        ['{"conversion_event":"call +1 650 555 0142"}'],
      ],
      ([text]) => {
        // Parsed and written again, as an object literal with __proto__ would have no such member.
        const merged = `${JSON.stringify(least).slice(0, -1)},${text.slice(1)}`;
        expect(parseEventDefinition(merged).ok).toBe(false);
      },
    ));
});

it('with triggers that are malformed', () =>
  checkAll(
    [
      ['scroll', { scroll_percent: 75 }, true],
      ['scroll', { scroll_percent: 0 }, false],
      ['scroll', { scroll_percent: 101 }, false],
      ['scroll', { scroll_percent: '75' }, false],
      ['timer', { timer_seconds: 0.5 }, true],
      ['timer', { timer_seconds: 3601 }, false],
      ['timer', {}, true],
      ['click', { scroll_percent: 'any' }, true],
    ],
    ([trigger, properties, ok]) => expect(readEventDefinition({ id: 'd', name: 'n', trigger, properties }).ok).toBe(ok),
  ));
