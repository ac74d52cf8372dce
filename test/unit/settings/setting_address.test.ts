import { describe, expect, it } from 'vitest';
import {
  accountKey,
  apiKeyKey,
  destinationKey,
  domainProofKey,
  engageKey,
  keyOfSetting,
  parseSettingKey,
  savedKey,
  siteKey,
} from '#pipelines/settings/table.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { account, apiKey, destination, domainProof, setting, site } from './samples.ts';

const HASH = '0123456789abcdef'.repeat(4);

describe('record keys of site.config', () => {
  it('are read back', () =>
    checkAll(
      [
        [accountKey('acme'), { kind: 'account', accountId: 'acme' }],
        [siteKey('shop_1'), { kind: 'site', siteId: 'shop_1' }],
        [apiKeyKey(HASH), { kind: 'key', keyHash: HASH }],
        [savedKey('shop', 'board', 'weekly'), { kind: 'saved', siteId: 'shop', itemKind: 'board', itemId: 'weekly' }],
        [engageKey('shop', 'form', 'quote'), { kind: 'engage', siteId: 'shop', itemKind: 'form', itemId: 'quote' }],
        [domainProofKey('shop', 't.shop.example'), { kind: 'domain_proof', siteId: 'shop', domain: 't.shop.example' }],
        [destinationKey('shop', 'meta'), { kind: 'destination', siteId: 'shop', name: 'meta' }],
      ],
      ([recordKey, address]) => {
        expect(parseSettingKey(recordKey)).toEqual(address);
      },
    ));

  it('name no fact when they are malformed', () =>
    checkAll(
      [
        '',
        'account',
        'account/',
        'account/Acme',
        'account/a/b',
        'engage/shop/form',
        'engage/shop/quiz/a',
        'saved/shop/board',
        'saved/shop/form/a',
        'saved/shop/board/a/b',
        'engage/shop/form/A',
        'engage/shop/form/a/b',
        `account/${'a'.repeat(65)}`,
        'site/sh op',
        'site/shop/',
        `key/${HASH.slice(1)}`,
        `key/${HASH.toUpperCase()}`,
        'domain_proof/shop',
        'domain_proof/shop/T.shop.example',
        'domain_proof/shop/t.shop.example/x',
        'destination/shop',
        'destination/shop/',
        'destination//meta',
        'destination/shop/meta/x',
        'toString/shop',
      ],
      (recordKey) => {
        expect(parseSettingKey(recordKey)).toBeNull();
      },
    ));

  it('a setting belongs under one key only', () =>
    checkAll(
      [
        [setting({ account: account() }), 'account/acme'],
        [setting({ site: site() }), 'site/shop'],
        [setting({ key: apiKey() }), `key/${'a'.repeat(64)}`],
        [setting({ destination: destination() }), 'destination/shop/meta'],
        [setting({ domain_proof: domainProof('t.shop.example') }), 'domain_proof/shop/t.shop.example'],
        [setting({}), null],
        [setting({ account: account(), site: site() }), null],
      ],
      ([fact, recordKey]) => {
        expect(keyOfSetting(fact)).toBe(recordKey);
      },
    ));
});
