import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, readAnswer } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { verifiedDomain } from '#test/harness/verified_domain.ts';

const service = sharedService();
const { edge } = service.ready;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
  await verifiedDomain(service, site, `t.${site.site}.example`);
  await site.settings.run('domain', 'claim', `unset.${site.site}.example`, '--site', site.site);
});
afterAll(() => site.close());

const ask = async (path: string): Promise<Answer> => readAnswer(await fetch(`${edge}${path}`));

test('tls-check allows a verified domain, without a key', async () => {
  expect(await ask(`/v1/tls-check?domain=t.${site.site}.example`)).toMatchObject({
    status: 200,
    body: { allowed: true },
  });
});

const REFUSED: [what: string, query: () => string, status: number, code: string][] = [
  ['a domain nobody claimed', () => `domain=${site.site}.example`, 404, 'domain_unverified'],
  ['a domain below a claimed one', () => `domain=a.t.${site.site}.example`, 404, 'domain_unverified'],
  ['a claimed domain whose record is not set', () => `domain=unset.${site.site}.example`, 404, 'domain_unverified'],
  ['an address', () => 'domain=203.0.113.9', 400, 'domain_malformed'],
  ['no domain', () => '', 400, 'domain_malformed'],
];

test.for(REFUSED)('tls-check: %s', async ([, query, status, code]) => {
  expect(await ask(`/v1/tls-check?${query()}`)).toMatchObject({ status, body: { error: { code } } });
});
