import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startDnsServer } from './dns_server.ts';
import { startService } from './service.ts';
import type {} from './shared_service.ts';
import { startVendor } from './vendor_server.ts';
import { zoneOfSites } from './verified_domain.ts';

/** Tests of other matters share keys and send as fast as they can; those of the limits have an edge of their own. */
const UNLIMITED = { RATE_LIMIT_IP: '0', RATE_LIMIT_KEY: '0' };

/** Starts the shared service in a temporary data folder; the returned function ends it and removes the folder. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'shared-service-'));
  const dns = await startDnsServer(zoneOfSites);
  const vendor = await startVendor();
  const remove = async (): Promise<void> => {
    await dns.close();
    await vendor.close();
    rmSync(dataDir, { recursive: true, maxRetries: 5 });
  };
  try {
    const service = await startService(dataDir, {
      env: { ...UNLIMITED, CONTROL_DNS_SERVERS: dns.address, EDGE_LOADER_GOOGLE_URL: vendor.url },
      onProgress: (line) => project.vitest.logger.log(`  ${line}`),
    });
    const { pid, ready } = service;
    project.provide('service', { pid, dataDir, ready });
    return async () => {
      await service.stop();
      await remove();
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
