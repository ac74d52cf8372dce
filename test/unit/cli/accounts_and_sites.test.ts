import { describe, expect, it } from 'vitest';
import { PAGE_DEFAULTS, TAG_DEFAULTS } from '#schemas/setting.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { domainProof } from '#test/unit/settings/samples.ts';
import { expectDone, installation, installedShop, NOW_MS } from './harness.ts';

describe('accounts', () => {
  it('are created, changed and listed', async () => {
    const shop = await installation();
    expect(await expectDone(shop.svc('account list'))).toBe('There are no accounts.\n');
    await expectDone(shop.svc(['account', 'create', 'acme', '--name', 'Acme Ltd', '--allowance', '1_000_000']));
    expect(shop.store.writes).toEqual([
      {
        key: 'account/acme',
        setting: {
          changed_at: NOW_MS,
          changed_by: 'cli:tester',
          account: { account_id: 'acme', name: 'Acme Ltd', monthly_allowance: 1_000_000 },
          site: null,
          key: null,
          destination: null,
        },
      },
    ]);
    await expectDone(shop.svc('account set acme --allowance 5'));
    expect(await expectDone(shop.svc('account list'))).toBe(
      'ACCOUNT  NAME      EVENTS/MONTH  USED  OF ALLOWANCE\nacme     Acme Ltd  5             -     -\n',
    );
    shop.control.monthUsed.set('acme', 6);
    expect(await expectDone(shop.svc('account list'))).toMatch(/\nacme +Acme Ltd +5 +6 +120\.0 %\n$/);
    expect(JSON.parse(await expectDone(shop.svc('account list --json')))).toEqual([
      { account_id: 'acme', name: 'Acme Ltd', monthly_allowance: 5, used_this_month: 6 },
    ]);
  });
});

describe('the usage of an account', () => {
  it('is a table of its days and sites, and its sum', async () => {
    const shop = await installation(async () => [
      { site_id: 'till', day: '2026-02-02', events: 4 },
      { site_id: 'shop', day: '2026-02-02', events: 3 },
      { site_id: 'shop', day: '2026-02-28', events: 5 },
    ]);
    await expectDone(shop.svc('account create acme --allowance 100'));
    const lines = (await expectDone(shop.svc('account usage acme --month 2026-02'))).split('\n');
    expect(lines.slice(0, 3)).toEqual([
      'DAY         EVENTS  shop  till',
      '2026-02-01  0       0     0',
      '2026-02-02  7       3     4',
    ]);
    expect(lines.slice(28)).toEqual(['2026-02-28  5       5     0', '2026-02     12      8     4', '']);
  });
});

describe('sites', () => {
  it('begin with defaults', async () => {
    const shop = await installedShop();
    expect(shop.store.table.site('shop')).toEqual({
      site_id: 'shop',
      account_id: 'acme',
      name: 'shop',
      mode: 'online',
      business_category: 'other',
      default_country: null,
      identify_events: null,
      server_only_events: [],
      clarity_project_id: null,
      gtm_container_id: null,
      tag: TAG_DEFAULTS,
      pages: PAGE_DEFAULTS,
      domains: [],
      loader_prefix: null,
      block_rules: [],
      event_definitions: [],
      consent_defaults: [],
      event_days: null,
      outcome_days: null,
      time_zone: null,
      week_start: null,
      person_days: null,
      visitor_places: null,
      visitor_addresses: null,
      currency: null,
      embed_origins: [],
    });
  });

  it('take every setting at once', async () => {
    const shop = await installedShop();
    const words =
      'site create new --account acme --name New --mode offline --category travel --country be --clarity abcd1234 ' +
      '--gtm GTM-ABC1234 --domain T.New.Example --domain bücher.example --block ip=10.0.0.0/8 ' +
      '--block property:plan=a=b --identify-event sign_up --identify-event login --event-days 90 --person-days 400 ' +
      '--consent-default eea=denied --consent-default else=granted ' +
      '--tag consent_required=on --tag inventory=off';
    await expectDone(shop.svc(words));
    expect(shop.store.table.site('new')).toEqual({
      site_id: 'new',
      account_id: 'acme',
      name: 'New',
      mode: 'offline',
      business_category: 'travel',
      default_country: 'BE',
      identify_events: ['sign_up', 'login'],
      server_only_events: [],
      clarity_project_id: 'abcd1234',
      gtm_container_id: 'GTM-ABC1234',
      tag: { ...TAG_DEFAULTS, consent_required: true, inventory: false },
      pages: PAGE_DEFAULTS,
      domains: ['t.new.example', 'xn--bcher-kva.example'],
      loader_prefix: null,
      block_rules: [
        { kind: 'ip', value: '10.0.0.0/8', property: null },
        { kind: 'property', value: 'a=b', property: 'plan' },
      ],
      event_definitions: [],
      consent_defaults: [
        { country: 'EEA', consent: 'denied' },
        { country: null, consent: 'granted' },
      ],
      event_days: 90,
      outcome_days: null,
      time_zone: null,
      week_start: null,
      person_days: 400,
      visitor_places: null,
      visitor_addresses: null,
      currency: null,
      embed_origins: [],
    });
  });

  it('keep the settings of the tag that are not named', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc('site set shop --tag web_vitals=on'));
    await expectDone(shop.svc('site set shop --tag respect_gpc=off'));
    expect(shop.store.table.site('shop')?.tag).toEqual({ ...TAG_DEFAULTS, web_vitals: true, respect_gpc: false });
  });

  it('change rules of pages that are named, and show before what they would make of pages', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc('site set shop --pages shorten_ids=on --page-rule /blog/* --page-rule /u/:id'));
    await expectDone(shop.svc('site set shop --pages lower_case=on --page-parameter tab'));
    const rules = {
      ...PAGE_DEFAULTS,
      shorten_ids: true,
      lower_case: true,
      parameters: ['tab'],
      rules: ['/blog/*', '/u/:id'],
    };
    expect(shop.store.table.site('shop')?.pages).toEqual(rules);
    await expectDone(shop.svc(['site', 'set', 'shop', '--page-rule', '']));
    expect(shop.store.table.site('shop')?.pages).toEqual({ ...rules, rules: [] });
    expect(await shop.svc('site set shop --pages rules=on')).toMatchObject({
      ...{ exitCode: 2, stderr: expect.stringMatching(/^svc: page_setting_unknown: /) },
    });
  });

  it.each([
    ['nothing=on', 'tag_setting_unknown'],
    ['inventory=maybe', 'tag_setting_malformed'],
  ])('refuse --tag %s', async (word, code) => {
    const shop = await installedShop();
    const result = await shop.svc(`site set shop --tag ${word}`);
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(new RegExp(`^svc: ${code}: `)) });
  });

  it('add to and take from their lists', async () => {
    const shop = await installedShop();
    await expectDone(
      shop.svc('site set shop --domain a.example --domain b.example --block event=x --block country=RU'),
    );
    await expectDone(shop.svc('site set shop --remove-domain a.example --domain c.example --unblock event=x'));
    expect(shop.store.table.site('shop')).toMatchObject({
      domains: ['b.example', 'c.example'],
      block_rules: [{ kind: 'country', value: 'RU', property: null }],
    });
  });

  it('give up what may be empty', async () => {
    const shop = await installedShop();
    await expectDone(
      shop.svc('site set shop --country BE --gtm GTM-ABC1234 --clarity abcd1234 --identify-event login'),
    );
    const emptied = ['--country', '', '--gtm', '', '--clarity', '', '--standard-identify-events'];
    await expectDone(shop.svc(['site', 'set', 'shop', ...emptied]));
    expect(shop.store.table.site('shop')).toMatchObject({
      default_country: null,
      gtm_container_id: null,
      clarity_project_id: null,
      identify_events: null,
      server_only_events: [],
    });
  });

  it.each(['events.json', '-'])('take event definitions from %s, completed', async (path) => {
    const shop = await installedShop();
    shop.stdin = '[{"id":"buy","name":"purchase","trigger":"click"}]';
    shop.files.set('events.json', shop.stdin);
    const shown: unknown = JSON.parse(await expectDone(shop.svc(`site set shop --definitions-file ${path} --json`)));
    expect(shown).toMatchObject({ event_definitions: [{ id: 'buy', selector: '', enabled: true }] });
    expect(shop.store.table.site('shop')?.event_definitions).toHaveLength(1);
  });

  it('move to another account', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc('account create other --allowance 5'));
    await expectDone(shop.svc('site set shop --account other'));
    expect(shop.store.table.accountOfSite('shop')?.account_id).toBe('other');
  });

  it('refuse a domain that another site has proven', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc('site set shop --domain a.example'));
    put(shop.store.table, { domain_proof: domainProof('a.example') });
    const result = await shop.svc('site create new --account acme --domain a.example');
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^svc: domain_claimed: /) });
  });

  it('are listed in aligned columns, or only those of an account', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc('account create other --allowance 5'));
    await expectDone(shop.svc('site create a-longer-name --account other --country BE --domain a.example'));
    expect(await expectDone(shop.svc('site list'))).toBe(
      [
        'SITE           ACCOUNT  NAME           MODE    CATEGORY  COUNTRY  DOMAINS    BLOCKS  DEFINITIONS',
        'a-longer-name  other    a-longer-name  online  other     BE       a.example  0       0',
        'shop           acme     shop           online  other     -        -          0       0',
        '',
      ].join('\n'),
    );
    expect(await expectDone(shop.svc('site list --account acme'))).not.toContain('a-longer-name');
  });
});

it('a site that moves says what was given in it and still works', async () => {
  const shop = await installedShop();
  await expectDone(shop.svc('account create rival --allowance 1'));
  await shop.control.addUser({ user_id: 'vera', grants: [{ role: 'viewer', account_id: null, site_id: 'shop' }] });
  expect(await expectDone(shop.svc('site set shop --account rival --end-access tokens'))).toBe(
    [
      'Site shop changed.',
      'Access given in the site itself that still works:',
      'Users: vera (viewer)',
      'Tokens: -',
      'Keys: -',
      'ClickHouse users: -',
      '',
    ].join('\n'),
  );
});
