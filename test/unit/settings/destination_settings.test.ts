import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { secretField, textField } from '#pipelines/delivery/setting_fields.ts';
import { destinationSettingProblems, type SettingsDraft } from '#pipelines/settings/destination_settings.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { problemsOf } from './problems_of.ts';

const schema = Type.Object({
  pixel_id: textField({ title: 'Pixel', description: 'Digits only.', pattern: '^\\d+$' }),
  version: textField({ title: 'Version', default: 'v1' }),
  note: Type.Optional(textField({ title: 'Note' })),
  access_token: secretField({ title: 'Token', pattern: '^EA' }),
});

function adapterNamed(name: string): Adapter {
  const unused = (): never => {
    throw new Error('settings are checked without sending');
  };
  return {
    name,
    title: name,
    schema,
    anonymousEvents: 'send',
    advertising: 'none',
    limits: unused,
    ageMaxMs: unused,
    map: unused,
    overheadBytes: unused,
    request: unused,
    classify: unused,
  };
}

const good: SettingsDraft = {
  name: 'other',
  settings: { pixel_id: '1' },
  secrets: { access_token: 'EA1' },
  storedSecrets: [],
};

describe('settings of a destination', () => {
  const cases: [string, Partial<SettingsDraft>, string[]][] = [
    ['complete', {}, []],
    ['with a stored secret', { secrets: {}, storedSecrets: ['access_token'] }, []],
    ['with a stored secret given anew', { storedSecrets: ['access_token'] }, []],
    [
      'with a stored secret replaced by a malformed one',
      { secrets: { access_token: 'x' }, storedSecrets: ['access_token'] },
      ['destination_setting_malformed access_token'],
    ],
    ['without a secret', { secrets: {} }, ['destination_setting_malformed access_token']],
    ['without a setting', { settings: {} }, ['destination_setting_malformed pixel_id']],
    ['with a malformed setting', { settings: { pixel_id: 'x' } }, ['destination_setting_malformed pixel_id']],
    ['with an unknown setting', { settings: { pixel_id: '1', pixel: '1' } }, ['destination_setting_unknown pixel']],
    [
      'with a secret among the settings',
      { settings: { pixel_id: '1', access_token: 'EA1' } },
      ['destination_setting_secret access_token'],
    ],
    [
      'with a setting among the secrets',
      { secrets: { access_token: 'EA1', pixel_id: '1' } },
      ['destination_secret_unknown pixel_id'],
    ],
    [
      'with a prototype name',
      { settings: { pixel_id: '1', constructor: '1' } },
      ['destination_setting_unknown constructor'],
    ],
  ];
  it('are refused with what is malformed', () =>
    checkAll(cases, ([_name, changes, problems]) => {
      expect(problemsOf(destinationSettingProblems(adapterNamed('other'), { ...good, ...changes }))).toEqual(problems);
    }));

  it('explains the field and never repeats a value', () => {
    const draft = { ...good, settings: { pixel_id: 'wrong-value' }, secrets: { access_token: 'bad-token' } };
    const text = JSON.stringify(destinationSettingProblems(adapterNamed('other'), draft));
    expect(text).toContain('Pixel. Digits only.');
    expect(text).not.toMatch(/wrong-value|bad-token/);
  });
});

describe('settings for the browser tag', () => {
  it('are what each destination shows', () =>
    checkAll(
      [
        ['meta', { route_pixels: '[{"pixel_id":"12345","url_pattern":"/fr/*"}]' }, []],
        ['meta', { route_pixels: '' }, []],
        ['meta', { route_pixels: '[{}]' }, ['destination_setting_malformed route_pixels']],
        ['meta', { route: 'browser' }, ['destination_setting_unknown route']],
        ['ga4', { route: 'browser' }, []],
        ['ga4', { route: 'server' }, []],
        ['ga4', { route: 'both' }, ['destination_setting_malformed route']],
        ['other', { route_pixels: '' }, ['destination_setting_unknown route_pixels']],
        ['ga4-eu', { route: 'server' }, []],
        ['ga4-eu', { route: 'browser' }, ['destination_setting_malformed route']],
        ['meta-eu', { route_pixels: '[]' }, ['destination_setting_malformed route_pixels']],
      ],
      ([name, settings, problems]) => {
        const draft = { ...good, name, settings: { pixel_id: '1', ...settings } };
        expect(problemsOf(destinationSettingProblems(adapterNamed(kindOfDestination(name)), draft))).toEqual(problems);
      },
    ));
});
