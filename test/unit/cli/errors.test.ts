import { describe, expect, it } from 'vitest';
import { JournalError } from '#pipelines/settings/journal.ts';
import { installedShop, SECRET } from './harness.ts';

const HASH = 'a'.repeat(64);

/** What is typed, and the code it is answered with. */
const cases: [string | string[], string][] = [
  ['nonsense', 'command_unknown'],
  ['site destroy shop', 'command_unknown'],
  ['toString list', 'command_unknown'],
  ['status --verbose', 'flag_unknown'],
  ['account list --verbose', 'flag_unknown'],
  ['account list extra', 'argument_unexpected'],
  ['account list --json=yes', 'flag_unknown'],
  ['account create --allowance 5', 'argument_missing'],
  ['account create other', 'flag_missing'],
  ['account create other --allowance', 'flag_value_missing'],
  ['account create other --allowance --json', 'flag_value_missing'],
  ['account create other --allowance many', 'number_malformed'],
  ['account create other --allowance -5', 'number_malformed'],
  ['account create other --allowance=-5', 'number_malformed'],
  ['account create Other --allowance 5', 'id_malformed'],
  ['account create acme --allowance 5', 'account_exists'],
  ['account set other --allowance 5', 'account_unknown'],
  ['account set acme', 'nothing_to_change'],
  ['account set acme --allowance 1000', 'nothing_to_change'],
  [['account', 'set', 'acme', '--name', 'a\nb'], 'name_malformed'],
  ['site list --account other', 'account_unknown'],
  ['site create shop --account acme', 'site_exists'],
  ['site create new', 'flag_missing'],
  ['site create new --account other', 'account_unknown'],
  ['site create new --account acme --mode paused', 'mode_unknown'],
  ['site create new --account acme --category shoes', 'category_unknown'],
  ['site create new --account acme --country XX', 'country_unknown'],
  ['site create new --account acme --domain localhost', 'domain_malformed'],
  ['site create new --account acme --remove-domain a.example', 'flag_unknown'],
  ['site create new --account acme --block ip', 'pair_malformed'],
  ['site create new --account acme --block ip=nowhere', 'block_rule_malformed'],
  ['site create new --account acme --block colour=red', 'block_rule_malformed'],
  ['site create new --account acme --block property=free', 'block_rule_malformed'],
  ['site create new --account acme --block event:x=free', 'block_rule_malformed'],
  ['site create new --account acme --gtm UA-1', 'gtm_id_malformed'],
  ['site create new --account acme --clarity a', 'clarity_id_malformed'],
  ['site set gone --mode offline', 'site_unknown'],
  ['site set shop --remove-domain a.example', 'not_there'],
  ['site set shop --unblock ip=10.0.0.1', 'not_there'],
  ['site set shop --identify-event a --standard-identify-events', 'flags_conflict'],
  ['site set shop --definitions-file gone.json', 'file_unreadable'],
  ['site set shop --definitions-file bad.json', 'event_definition_malformed'],
  ['site set shop --definitions-file object.json', 'event_definition_malformed'],
  ['site set shop --definitions-file hover.json', 'event_definition_malformed'],
  ['topics grow many', 'number_malformed'],
  ['topics grow 0', 'number_malformed'],
  ['topics grow 4', 'not_running'],
  ['key list --site gone', 'site_unknown'],
  ['key create --caller browser', 'flag_missing'],
  ['key create --site shop', 'flag_missing'],
  ['key create --site gone --caller browser', 'site_unknown'],
  ['key create --site shop --caller robot', 'caller_unknown'],
  ['key create --site shop --caller browser --origin shop.example', 'origin_malformed'],
  ['key create --site shop --caller server --origin https://shop.example', 'origins_not_for_servers'],
  ['key create --site shop --caller server --expires soon', 'expiry_malformed'],
  ['key create --site shop --caller server --expires 0d', 'expiry_malformed'],
  ['key create --site shop --caller server --expires 2020-01-01', 'expiry_malformed'],
  ['key create --site shop --caller server --expires 2026-13-01', 'expiry_malformed'],
  ['key rotate svc_pk_none', 'key_unknown'],
  ['key rotate svc_pk_none --overlap soon', 'duration_malformed'],
  ['token revoke none', 'token_unknown'],
  ['token create cli:tester', 'token_exists'],
  ['token create new --expires soon', 'expiry_malformed'],
  ['token revoke cli:tester', 'token_last'],
  ['audit list --limit many', 'number_malformed'],
  ['audit list --limit 5000', 'field_malformed'],
  ['key revoke', 'argument_missing'],
  ['key revoke svc_pk_none', 'key_unknown'],
  [['key', 'revoke', ''], 'argument_missing'],
  [['destination', 'list', '--site', ''], 'id_malformed'],
  [['destination', 'delete', 'crm', '--site', ''], 'flag_missing'],
  [`key revoke ${HASH}`, 'key_unknown'],
  ['destination list --site gone', 'site_unknown'],
  ['destination create crm', 'flag_missing'],
  ['destination create crm --site gone', 'site_unknown'],
  ['destination create fax --site shop', 'destination_unknown'],
  ['destination create crm --site shop', 'destination_setting_malformed'],
  ['destination create crm --site shop --set url', 'pair_malformed'],
  ['destination create crm --site shop --set =x', 'pair_malformed'],
  ['destination create crm --site shop --set url=https://a --set url=https://b', 'pair_repeated'],
  ['destination create crm --site shop --set url=http://a --secret token=t', 'destination_setting_malformed'],
  ['destination create crm --site shop --set uri=https://a --secret token=t', 'destination_setting_unknown'],
  ['destination create crm --site shop --set url=https://a --set token=t', 'destination_setting_secret'],
  ['destination create crm --site shop --set url=https://a --secret url=t', 'destination_secret_unknown'],
  ['destination create crm --site shop --set url=https://a --secret token=', 'destination_setting_malformed'],
  ['destination create crm --site shop --set url=https://a --secret token=a --secret-stdin token', 'pair_repeated'],
  ['destination create crm --site shop --set url=https://a --secret-file token=gone.txt', 'file_unreadable'],
  ['destination set crm --site shop --set url=https://a', 'destination_unknown'],
  ['destination enable crm --site shop', 'destination_unknown'],
  ['destination delete crm --site shop', 'destination_unknown'],
];

describe('what cannot be done', () => {
  it.each(cases)('%j is one line with a code, and exit status 2', async (words, code) => {
    const shop = await installedShop();
    shop.files.set('bad.json', '{');
    shop.files.set('object.json', '{}');
    shop.files.set('hover.json', '[{"id":"a","name":"a","trigger":"hover"}]');
    shop.stdin = 'typed';
    const result = await shop.svc(words);
    expect(result.stderr).toMatch(new RegExp(`^svc: ${code}: [^\\n]+\\n$`));
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(shop.store.writes).toEqual([]);
  });

  it.each([
    [['destination', 'create', 'crm', '--site', 'shop', '--secret', 'token', SECRET]],
    [['destination', 'create', 'crm', '--site', 'shop', '--secret', SECRET]],
    [['destination', 'create', 'crm', '--site', 'shop', '--disabled', SECRET]],
    [['destination', 'create', 'crm', '--site', 'shop', `--disabled=${SECRET}`]],
    [['destination', 'create', 'crm', '--site', 'shop', '--secret', `tokn=${SECRET}`]],
    [['destination', 'create', 'crm', '--site', 'shop', `--secrt=token=${SECRET}`]],
    [['destination', 'create', 'crm', '--site', 'shop', '--set', `token=${SECRET}`]],
  ])('%#: a mistyped secret is not repeated', async (words) => {
    const result = await (await installedShop()).svc(words);
    expect(result.exitCode).toBe(2);
    expect(result.stderr).not.toContain(SECRET);
  });

  it.each([
    ['dead list --since yesterday', 'moment_malformed', 'a time with its offset (2027-01-31T08:00Z), how long ago (3d'],
    ['query trends shop --since yesterday', 'moment_malformed', 'how long ago (3d, 12h, 30m)'],
    ['query trends shop --until 5w', 'moment_malformed', 'a date (2027-01-31)'],
    ['query trends shop --format xml', 'flag_value_unknown', 'table, json, csv'],
    ['site create new --account acme --mode paused', 'mode_unknown', 'must be one of: online, offline'],
  ])('%j says which forms are read', async (words, code, forms) => {
    const { stderr } = await (await installedShop()).svc(words);
    expect(stderr).toMatch(new RegExp(`^svc: ${code}: `));
    expect(stderr).toContain(forms);
  });

  it('never prints a whole key back', async () => {
    const key = `svc_sk_${'k'.repeat(32)}`;
    const result = await (await installedShop()).svc(`key revoke ${key}`);
    expect(result.stderr).toBe('svc: key_unknown: there is no key svc_sk_kkkk\n');
  });

  it('prints no terminal codes that were typed', async () => {
    const result = await (await installedShop()).svc(['key', 'revoke', '\u001b[31m\n']);
    expect(result.stderr).toBe('svc: key_unknown: there is no key  [31m \n');
  });

  it('passes failures of the service on', async () => {
    const shop = await installedShop();
    shop.control.journal.failure = new JournalError('no broker');
    await expect(shop.svc('account set acme --allowance 5')).rejects.toMatchObject({
      code: 'control_unavailable',
      message: expect.stringContaining('settings_not_stored'),
    });
  });
});
