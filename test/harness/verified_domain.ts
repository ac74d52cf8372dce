import { domainRecords } from '#pipelines/settings/domains.ts';
import type { DnsKind, DnsReply } from './dns_server.ts';
import type { SharedService } from './shared_service.ts';
import type { TestSite } from './test_site.ts';
import { until } from './until.ts';

const CHALLENGE = /^_svc-challenge\.(.+)$/;

/** The zone below `.example`: each second-level name belongs to the site of the same id; only `unset.` lacks its records. */
export function zoneOfSites(name: string, kind: DnsKind): DnsReply {
  const domain = CHALLENGE.exec(name)?.[1];
  const site = domain?.split('.').at(-2);
  if (kind !== 'TXT' || domain === undefined || site === undefined || domain.startsWith('unset.')) return 'nxdomain';
  return [[domainRecords(site, domain, null).txt.value]];
}

/** Claims a domain for a site of the shared service and verifies it; returns when the edge serves it. */
export async function verifiedDomain({ ready }: SharedService, site: TestSite, domain: string): Promise<void> {
  await site.settings.run('domain', 'claim', domain, '--site', site.site);
  await site.settings.run('domain', 'verify', domain, '--site', site.site);
  await until(
    'the edge knows the domain',
    () => fetch(`${ready.edge}/v1/tls-check?domain=${domain}`),
    ({ status }) => status === 200,
  );
}
