import { describe, expect, test } from 'vitest';
import {
  type DnsAnswer,
  domainRecords,
  domainState,
  findProof,
  proofAfter,
  unprovenDomain,
} from '#pipelines/settings/domains.ts';
import type { DomainProof } from '#schemas/setting.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { NOW_MS } from './samples.ts';

const GRACE_MS = 72 * 3_600_000;
const ABSENT: DnsAnswer = { kind: 'absent' };
const AWAY: DnsAnswer = { kind: 'unavailable' };
const records = domainRecords('shop', 't.shop.example', 'edge.example');
const found = (...values: string[]): DnsAnswer => ({ kind: 'found', values });
const blank = unprovenDomain('shop', 't.shop.example');
const verified: DomainProof = { ...blank, verified_at: NOW_MS };

describe('the records of a domain', () => {
  test('name the domain and the site', () => {
    expect(records.txt.name).toBe('_svc-challenge.t.shop.example');
    expect(records.txt.value).toMatch(/^svc-site-verification=[0-9a-f]{32}$/);
    expect(records.cname?.name).toBe('t.shop.example');
    expect(records.cname?.value).toMatch(/^[0-9a-f]{32}\.edge\.example$/);
  });

  test('are others for another site and for another domain', () => {
    const values = [
      records,
      domainRecords('shop2', 't.shop.example', null),
      domainRecords('shop', 't2.shop.example', null),
    ].map(({ txt }) => txt.value);
    expect(new Set(values).size).toBe(3);
  });

  test('have no alias where the installation has no name for one', () => {
    expect(domainRecords('shop', 't.shop.example', null).cname).toBeNull();
  });
});

describe('a domain is', () => {
  const alias = records.cname?.value ?? '';
  const other = domainRecords('other', 't.shop.example', 'edge.example');
  const cases: [string, DnsAnswer, DnsAnswer, string][] = [
    ['proven by its TXT record', found('v=spf1 -all', records.txt.value), ABSENT, 'proven'],
    ['proven by its alias', ABSENT, found(alias), 'proven'],
    ['proven by its alias though the servers of the other record are away', AWAY, found(alias), 'proven'],
    ['not proven by the TXT record of another site', found(other.txt.value), ABSENT, 'missing'],
    ['not proven by the alias of another site', ABSENT, found(other.cname?.value ?? ''), 'missing'],
    ['not proven by the bare name of the installation', ABSENT, found('edge.example'), 'missing'],
    ['not proven without records', ABSENT, ABSENT, 'missing'],
    ['undecided while servers are away', AWAY, ABSENT, 'unavailable'],
  ];
  test('as its proof and its holders say', () =>
    checkAll(cases, async ([, txt, cname, finding]) => {
      expect(await findProof(records, { txt: async () => txt, cname: async () => cname })).toBe(finding);
    }));
});

describe('a proof', () => {
  test('begins when a record is found first, and keeps that time', () => {
    const first = proofAfter(blank, 'proven', NOW_MS, GRACE_MS);
    expect(first).toEqual(verified);
    expect(proofAfter(first, 'proven', NOW_MS + 1, GRACE_MS)).toEqual(verified);
  });

  test('does not begin without one', () => {
    expect(proofAfter(blank, 'missing', NOW_MS, GRACE_MS)).toEqual(blank);
    expect(domainState(blank)).toBe('pending');
  });

  test('is not ended by servers that are away, however long', () => {
    expect(proofAfter(verified, 'unavailable', NOW_MS + 10 * GRACE_MS, GRACE_MS)).toEqual(verified);
  });

  test('fails for the grace and lapses at its end', () => {
    const failing = proofAfter(verified, 'missing', NOW_MS + 5, GRACE_MS);
    expect(failing).toEqual({ ...verified, failing_since: NOW_MS + 5 });
    expect(domainState(failing)).toBe('failing');
    expect(proofAfter(failing, 'missing', NOW_MS + 4 + GRACE_MS, GRACE_MS)).toEqual(failing);
    const lapsed = proofAfter(failing, 'missing', NOW_MS + 5 + GRACE_MS, GRACE_MS);
    expect(lapsed).toEqual({ ...blank, failing_since: NOW_MS + 5 });
    expect(domainState(lapsed)).toBe('lapsed');
  });

  test('is whole again when the record is back, within the grace and after it', () => {
    const failing = { ...verified, failing_since: NOW_MS + 5 };
    expect(proofAfter(failing, 'proven', NOW_MS + 9, GRACE_MS)).toEqual(verified);
    const lapsed = { ...blank, failing_since: NOW_MS + 5 };
    expect(proofAfter(lapsed, 'proven', NOW_MS + 9, GRACE_MS)).toEqual({ ...blank, verified_at: NOW_MS + 9 });
  });
});
