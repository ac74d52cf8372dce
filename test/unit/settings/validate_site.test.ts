import { describe, expect, it } from 'vitest';
import { BUSINESS_CATEGORIES, siteProblems } from '#pipelines/settings/validate.ts';
import { type BlockRule, PAGE_DEFAULTS, type Site } from '#schemas/setting.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { filledTable } from './filled_table.ts';
import { problemsOf } from './problems_of.ts';
import { account, domainProof, site } from './samples.ts';

const table = filledTable(
  { account: account() },
  { site: site({ site_id: 'travel', domains: ['taken.example'] }) },
  { site: site({ site_id: 'travel2', domains: ['unproven.example'] }) },
  { domain_proof: domainProof('taken.example', { site_id: 'travel' }) },
  { site: site({ domains: ['mine.example'] }) },
);
const definition = (changes: object): string =>
  JSON.stringify({ id: 'buy', name: 'purchase', trigger: 'click', ...changes });
const numbered = (count: number, text: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => text(index));

describe('a site', () => {
  const cases: [Partial<Site>, string[]][] = [
    [{}, []],
    [{ mode: 'offline', default_country: 'BE', clarity_project_id: 'abc123def4', gtm_container_id: 'GTM-ABC1234' }, []],
    [{ identify_events: [] }, []],
    [{ identify_events: ['sign_up', '$identify'] }, []],
    [{ domains: ['mine.example', 'free.example', 'xn--bcher-kva.example'] }, []],
    [{ event_definitions: [definition({})] }, []],
    [{ site_id: 'Shop' }, ['id_malformed site_id']],
    [{ name: '' }, ['name_malformed name']],
    [{ account_id: 'gone' }, ['account_unknown account_id']],
    [{ mode: 'paused' as 'online' }, ['mode_unknown mode']],
    [{ business_category: 'shoes' }, ['category_unknown business_category']],
    [{ default_country: 'be' }, ['country_unknown default_country']],
    [{ default_country: 'UK' }, ['country_unknown default_country']],
    [{ default_country: 'BEL' }, ['country_unknown default_country']],
    [{ default_country: '' }, ['country_unknown default_country']],
    [{ event_days: 1, outcome_days: 36_500, person_days: 30 }, []],
    [{ event_days: 90, person_days: 400 }, []],
    [
      {
        consent_defaults: [
          { country: 'EEA', consent: 'denied' },
          { country: null, consent: 'granted' },
        ],
      },
      [],
    ],
    [{ consent_defaults: [{ country: 'EU-27', consent: 'denied' }] }, ['consent_default_malformed consent_defaults']],
    [
      {
        consent_defaults: [
          { country: 'DE', consent: 'denied' },
          { country: 'DE', consent: 'granted' },
        ],
      },
      ['repeated consent_defaults'],
    ],
    [{ time_zone: 'Europe/Berlin', week_start: 'sunday' }, []],
    [{ time_zone: 'Asia/Kolkata', week_start: 'saturday' }, []],
    [{ time_zone: 'UTC' }, []],
    ...['europe/berlin', 'Europe/BERLIN', '+01:00', 'Mars/Base', ''].map((time_zone): [Partial<Site>, string[]] => [
      { time_zone },
      ['time_zone_unknown time_zone'],
    ]),
    [{ week_start: 'tuesday' }, ['week_start_unknown week_start']],
    [{ visitor_places: 'country', visitor_addresses: 'cut' }, []],
    [{ visitor_places: 'street' }, ['visitor_places_unknown visitor_places']],
    [{ visitor_addresses: '' }, ['visitor_addresses_unknown visitor_addresses']],
    [{ currency: 'EUR' }, []],
    [{ currency: 'euro' }, ['currency_malformed currency']],
    [{ pages: { ...PAGE_DEFAULTS, rules: ['/users/:id/*', '/app#/x', '/*.html'], parameters: ['page', 'ids[]'] } }, []],
    ...['users', '/a?b', '/a b', '/é', `/${'a'.repeat(200)}`, '/*/*/*/*/*'].map((rule): [Partial<Site>, string[]] => [
      { pages: { ...PAGE_DEFAULTS, rules: [rule] } },
      ['page_rule_malformed pages.rules[0]'],
    ]),
    [{ pages: { ...PAGE_DEFAULTS, rules: ['/jane@shop.example'] } }, ['personal_text pages.rules[0]']],
    [{ pages: { ...PAGE_DEFAULTS, rules: ['/a', '/a'] } }, ['repeated pages.rules']],
    [{ pages: { ...PAGE_DEFAULTS, rules: Array.from({ length: 21 }, (_, at) => `/${at}`) } }, ['too_many pages.rules']],
    [{ pages: { ...PAGE_DEFAULTS, parameters: ['a b'] } }, ['page_parameter_malformed pages.parameters[0]']],
    [{ event_days: 0 }, ['days_malformed event_days']],
    [{ outcome_days: 1.5 }, ['days_malformed outcome_days']],
    [{ person_days: 29 }, ['days_malformed person_days']],
    [{ person_days: 36_501 }, ['days_malformed person_days']],
    [{ clarity_project_id: 'a"b' }, ['clarity_id_malformed clarity_project_id']],
    [{ gtm_container_id: 'GTM-abc' }, ['gtm_id_malformed gtm_container_id']],
    [{ gtm_container_id: 'G-ABC1234' }, ['gtm_id_malformed gtm_container_id']],
    [{ identify_events: [''] }, ['event_name_malformed identify_events']],
    [{ identify_events: ['a', 'a'] }, ['repeated identify_events']],
    [{ identify_events: ['mail jane@shop.example'] }, ['personal_text identify_events']],
    [
      { block_rules: [{ kind: 'distinct_id', value: 'jane@shop.example', property: null }] },
      ['personal_text block_rules[0]'],
    ],
    [{ identify_events: numbered(201, (index) => `e${index}`) }, ['too_many identify_events']],
    [{ domains: ['Shop.example'] }, ['domain_malformed domains']],
    [{ domains: ['localhost'] }, ['domain_malformed domains']],
    [{ domains: ['a.example', 'co.uk'] }, ['domain_unclaimable domains[1]']],
    [{ domains: ['unproven.example'] }, []],
    [{ domains: ['taken.example'] }, ['domain_claimed domains']],
    [{ domains: ['a.example', 'a.example'] }, ['repeated domains']],
    [{ domains: numbered(101, (index) => `s${index}.example`) }, ['too_many domains']],
    [{ event_definitions: ['{'] }, ['event_definition_malformed event_definitions[0]']],
    [{ event_definitions: [definition({}), definition({})] }, ['repeated event_definitions']],
    [{ event_definitions: numbered(201, (index) => definition({ id: `d${index}` })) }, ['too_many event_definitions']],
    [
      {
        event_definitions: numbered(40, (index) =>
          definition({ id: `d${index}`, properties: { a: 'x'.repeat(8000) } }),
        ),
      },
      ['too_large event_definitions'],
    ],
  ];
  it('is checked', () =>
    checkAll(cases, ([changes, problems]) => {
      expect(problemsOf(siteProblems(site(changes), table))).toEqual(problems);
    }));

  it('keeps a domain that was claimed before such were refused, and takes no other', () => {
    const before = site({ domains: ['co.uk'] });
    expect(siteProblems(site({ name: 'Renamed', domains: ['co.uk'] }), table, before)).toEqual([]);
    const after = site({ domains: ['co.uk', 'org.uk'] });
    expect(problemsOf(siteProblems(after, table, before))).toEqual(['domain_unclaimable domains[1]']);
  });

  it('may be of every category', () =>
    checkAll(BUSINESS_CATEGORIES, (category) => {
      expect(siteProblems(site({ business_category: category }), table)).toEqual([]);
    }));
});

describe('a block rule', () => {
  const rule = (kind: string, value: string, property: string | null = null): BlockRule => ({
    kind: kind as BlockRule['kind'],
    value,
    property,
  });

  it('may be written', () =>
    checkAll(
      [
        rule('ip', '203.0.113.9'),
        rule('ip', '203.0.113.0/24'),
        rule('ip', '0.0.0.0/0'),
        rule('ip', '2001:db8::/128'),
        rule('user_agent', 'BadBot'),
        rule('country', 'RU'),
        rule('country', 'T1'),
        rule('event', '$autocapture'),
        rule('property', 'free', 'plan'),
        rule('property', '', 'plan'),
        rule('distinct_id', 'test-user'),
      ],
      (good) => {
        expect(siteProblems(site({ block_rules: [good] }), table)).toEqual([]);
      },
    ));

  it('is malformed', () =>
    checkAll(
      [
        rule('colour', 'red'),
        rule('toString', 'red'),
        rule('ip', ''),
        rule('ip', 'shop.example'),
        rule('ip', '203.0.113.0/33'),
        rule('ip', '203.0.113.0/'),
        rule('ip', '203.0.113.0/ 8'),
        rule('ip', '203.0.113.0/08'),
        rule('ip', '203.0.113.0/24/24'),
        rule('ip', '2001:db8::/129'),
        rule('ip', '300.0.0.1'),
        rule('user_agent', ''),
        rule('user_agent', 'a'.repeat(501)),
        rule('country', 'ru'),
        rule('country', 'RUS'),
        rule('event', ''),
        rule('event', ' purchase'),
        rule('event', 'purchase', 'plan'),
        rule('property', 'free'),
        rule('property', 'free', ''),
        rule('distinct_id', ''),
      ],
      (bad) => {
        const problems = siteProblems(site({ block_rules: [bad] }), table);
        expect(problemsOf(problems)).toEqual(['block_rule_malformed block_rules[0]']);
      },
    ));

  it('is not written twice, nor more than 500 times', () => {
    const twice = [rule('property', 'a', 'b'), rule('property', 'a', 'b')];
    expect(problemsOf(siteProblems(site({ block_rules: twice }), table))).toEqual(['repeated block_rules']);
    const many = numbered(501, (index) => `e${index}`).map((name) => rule('event', name));
    expect(problemsOf(siteProblems(site({ block_rules: many }), table))).toEqual(['too_many block_rules']);
  });
});

it('may claim no more domains than its account has room for, and keeps those it has', () => {
  const named = (count: number, from: string) => Array.from({ length: count }, (_, at) => `${from}${at}.shop.example`);
  const others = ['one', 'two'].map((site_id) => ({ site: site({ site_id, domains: named(100, site_id) }) }));
  const full = filledTable({ account: account() }, ...others);
  const codes = (changed: Site, before: Site | null) => siteProblems(changed, full, before).map(({ code }) => code);
  const own = site({ domains: named(1, 'own') });
  expect([codes(own, null), codes(own, own), codes(own, site({ domains: [] }))]).toEqual([
    ['too_many'],
    [],
    ['too_many'],
  ]);
});
