import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { localSqlUrl, makeLocalAnalyst } from '#services/local/parts/clickhouse/clickhouse.ts';
import { credentialsPath, listenersPath } from '#services/local/parts/clickhouse/users.ts';
import { startDnsServer } from './dns_server.ts';
import { startService } from './service.ts';
import { startSharedParts } from './shared_parts.ts';
import type {} from './shared_service.ts';
import { startSmtpServer } from './smtp_server.ts';
import { startVendor } from './vendor_server.ts';
import { zoneOfSites } from './verified_domain.ts';

/** Tests of other matters share keys and send as fast as they can; those of the limits have an edge of their own. */
const UNLIMITED = { RATE_LIMIT_IP: '0', RATE_LIMIT_KEY: '0' };

/** Has the service know the passwords of the shared parts, so that its processes are the users that `npm start` makes. */
function carryLogins(partsDir: string, dataDir: string): void {
  const paths = (dir: string): string[] => [
    ...(['kafka', 'redis', 'clickhouse'] as const).map((part) => credentialsPath(dir, part)),
    listenersPath(dir),
  ];
  for (const [at, path] of paths(partsDir).entries()) cpSync(path, paths(dataDir)[at] ?? '');
}

async function freePort(): Promise<number> {
  const { stop, url } = await startSmtpServer();
  await stop();
  return Number(new URL(url).port);
}

/** Starts the shared service on the shared parts; the returned function ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const onProgress = (line: string): void => project.vitest.logger.log(`  ${line}`);
  const { addresses, dataDir: partsDir } = await startSharedParts(onProgress);
  // Suites that follow each other start it again on the same parts, which know its token and its keys.
  const dataDir = join(partsDir, 'service');
  carryLogins(partsDir, dataDir);
  const dns = await startDnsServer(zoneOfSites);
  const vendor = await startVendor();
  // Where a test has a mail server, while it has one.
  const mailPort = await freePort();
  const close = async (): Promise<void> => {
    await dns.close();
    await vendor.close();
  };
  try {
    const service = await startService(dataDir, {
      env: {
        ...UNLIMITED,
        KAFKA_BROKERS: addresses.kafkaBrokers,
        SCHEMA_REGISTRY_URL: addresses.registryUrl,
        REDIS_URL: addresses.redisUrl,
        CLICKHOUSE_URL: addresses.clickhouseUrl,
        CONTROL_SQL_URL: localSqlUrl(partsDir, addresses.clickhouseUrl),
        CONTROL_DNS_SERVERS: dns.address,
        EDGE_LOADER_GOOGLE_URL: vendor.url,
        ALERTS_SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
        ALERTS_MAIL_FROM: 'Alerts <alerts@svc.example>',
      },
      onProgress,
    });
    await makeLocalAnalyst(addresses.clickhouseUrl);
    const { pid, ready } = service;
    project.provide('service', { pid, dataDir, ready });
    project.provide('mailPort', mailPort);
    return async () => {
      await service.stop();
      await close();
    };
  } catch (error) {
    await close();
    throw error;
  }
}
