import { describe, expect, it } from 'vitest';
import { numberOr } from '#pipelines/intake/ga4/hits.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { server } from '../context.ts';

describe('a number on the wire', () => {
  it.each([
    ['0', 0],
    ['-0.50', -0.5],
    ['.5', 0.5],
    ['5.', 5],
    ['12.50', 12.5],
    ['1000', 1000],
    ['15e-1', 1.5],
    ['1e3', 1000],
    ['0.30000000000000004', 0.30000000000000004],
    ['0.0000001', 1e-7],
    ['9007199254740991', 9007199254740991],
  ])('%s is one', (text, number) => expect(numberOr(text)).toBe(number));

  it.each([
    'true',
    '',
    '+5',
    '00123',
    '-007',
    '0014157007092',
    '0.1000000000000000055511151231257827',
    '123.45000000000000001',
    '9007199254740993',
    '1e999',
  ])('%s stays a text, as a number would lose something of it', (text) => expect(numberOr(text)).toBe(text));

  it('that is a phone number with 00 is found in the event', () => {
    const n = numberOr('0014157007092');
    const { taken } = processBatch([{ event: 'seen', distinct_id: 'v', properties: { n } }], server());
    expect(taken[0]?.properties).toBe('{"n":"redacted"}');
  });
});
