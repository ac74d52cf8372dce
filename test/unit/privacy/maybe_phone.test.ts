import { describe, expect, it } from 'vitest';
import { checkAll } from '#test/harness/check_all.ts';
import { server, siteWith, take } from '../intake/context.ts';

const of = (properties: Record<string, unknown>, country: string) =>
  take({ event: 'purchase', distinct_id: 'v', properties }, server({ site: siteWith({ default_country: country }) }));

describe('what stands under a word that need not mean a phone', () => {
  it.each([
    [{ hp: 15_000_000 }, 'ID'],
    [{ mobile: 12_990_000 }, 'DE'],
    [{ cep: '01310-100' }, 'BR'],
    [{ cep: '01310100' }, 'BR'],
  ])('%j is nobody`s number in %s', (properties, country) => {
    expect(of(properties, country).identifiers?.phone ?? null).toBeNull();
  });

  it.each([
    [{ mobile: '0151 57829304' }, 'DE'],
    [{ mobile: 6_502_530_000 }, 'US'],
    [{ tel: '+49 151 57829304' }, 'US'],
    [{ phone: '650 555 0142' }, 'US'],
  ])('%j is somebody`s in %s', (properties, country) => {
    expect(of(properties, country).identifiers?.phone).toMatch(/^[0-9a-f]{64}$/);
  });

  it('a postcode of Brazil is the place', () => {
    expect(of({ cep: '01310-100' }, 'BR').zip).toBe('01310-100');
    expect(of({ cep: '05321234567' }, 'TR').zip).toBe('redacted');
  });
});

describe('a revenue stays', () => {
  it.each([
    { value: 15_000_000, currency: 'IDR', type: 'mobile' },
    { value: 1_299_000, currency: 'VND', label: 'Mobile' },
    { value: 1_299_000, currency: 'JPY', kind: 'phone' },
    { value: 12_990_000, currency: 'IDR', name: 'phone' },
    { value: 12_990_000, type: 'phone' },
  ])('%j', (properties) => {
    expect(of(properties, 'ID').value).toBe(properties.value);
  });

  it('in an item, and in a pair', () => {
    const properties = { items: [{ type: 'phone', value: 12_990_000 }], pair: ['mobile', 12_990_000] };
    expect(JSON.parse(of(properties, 'ID').properties)).toEqual(properties);
  });

  it('but what was written into a field goes', () => {
    const fields = [
      { name: 'phone', value: '6505550142' },
      { name: 'Telefon', value: 6_505_550_142 },
    ];
    expect(of({ fields, pair: ['phone', 6_505_550_142] }, 'US').properties).not.toContain('6505550142');
  });
});

it('what names the field in a pair is cleaned too', () => {
  const pair = ['jane@example.com your phone', '6505550142'];
  expect(JSON.parse(of({ pair }, 'US').properties)).toEqual({ pair: ['redacted your phone', 'redacted'] });
});

it('though its text speaks of phones', () =>
  checkAll(
    [
      { mobile_app_id: '1234567890' },
      { phone_verified_at: 1_763_632_800_123 },
      { mobile_views: 12_345_678 },
      { mobile_campaign: '20261120' },
      { cell_update: '2026-11-20' },
      { phone_case_sku: '1234567890' },
      { microphone_serial: '1234567890' },
      { your_mobile: { build: 1_234_567_890 } },
      { mobile_hero: 'https://cdn.example/1234567890.png' },
    ],
    (properties) => {
      expect(JSON.parse(of(properties, 'US').properties)).toEqual(properties);
    },
  ));
