import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { add, type BatchCounts, failed, NOTHING } from '#test/harness/run/tally.ts';
import { startService } from '#test/harness/service.ts';
import { makeSite } from '#test/harness/test_site.ts';

export interface OutsideOptions {
  /** The command of Schemathesis. */
  tester: string;
  /** Requests made up for each operation. */
  examples: string;
  seed: string;
  /** Of a service of its own. */
  dataDir: string;
}

const RULES = fileURLToPath(new URL('./schemathesis.toml', import.meta.url));

/**
 * Lets Schemathesis, a property-based tester of OpenAPI documents, loose on the edge and the control service. Each document without a
 * finding counts as a test that passed, and so does that no process died.
 */
export async function testDocuments(options: OutsideOptions): Promise<BatchCounts> {
  const service = await startService(options.dataDir);
  try {
    const { ready } = service;
    const site = await makeSite(service);
    const basic = Buffer.from(`${site.serverKey}:`).toString('base64');
    const adminToken = readFileSync(ready.adminTokenFile, 'utf8').trim();
    const ofKey = [`X-Svc-Key: ${site.serverKey}`, `Authorization: Basic ${basic}`];
    const tallies = [
      await testDocument(options, 'edge', ready.edge, ofKey),
      await testDocument(options, 'control', ready.control, [`Authorization: Bearer ${adminToken}`]),
      deathsIn(service.output()),
    ];
    await site.close();
    return tallies.reduce(add);
  } finally {
    await service.stop();
  }
}

async function testDocument(
  options: OutsideOptions,
  name: string,
  url: string,
  headers: string[],
): Promise<BatchCounts> {
  console.log(`\n${name}: ${url}/docs/openapi.json`);
  const words = ['--config-file', RULES, 'run', `${url}/docs/openapi.json`, '--url', url];
  const limits = ['--max-examples', options.examples, '--seed', options.seed, '--continue-on-failure'];
  const credentials = headers.flatMap((header) => ['--header', header]);
  // The tester keeps what it found before in its working directory.
  const child = spawn(options.tester, [...words, ...limits, ...credentials], {
    stdio: 'inherit',
    cwd: options.dataDir,
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 ? { ...NOTHING, passed: 1 } : failed([`the document of ${name}: see what the tester said`]);
}

/** A process that ended under the test: its supervisor started another, which answers as if nothing had been. */
function deathsIn(output: string): BatchCounts {
  const died = output.split('\n').filter((line) => line.includes(' died ('));
  return died.length === 0 ? { ...NOTHING, passed: 1 } : failed(died);
}
