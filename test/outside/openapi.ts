// Lets Schemathesis, a property-based tester of OpenAPI documents, loose on the edge and the control service:
//   node test/outside/openapi.ts [--tester schemathesis] [--examples 50] [--seed 1]
// It is no package of ours: install it apart, and name its command.
//   python3 -m venv /tmp/schemathesis && /tmp/schemathesis/bin/pip install schemathesis
//   node test/outside/openapi.ts --tester /tmp/schemathesis/bin/schemathesis
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startService } from '#test/harness/service.ts';
import { makeSite } from '#test/harness/test_site.ts';

const { values } = parseArgs({
  options: {
    tester: { type: 'string', default: 'schemathesis' },
    examples: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
  },
});
const RULES = fileURLToPath(new URL('./schemathesis.toml', import.meta.url));

const dataDir = mkdtempSync(join(tmpdir(), 'outside-'));
const service = await startService(dataDir);
let failed = false;
try {
  const { ready } = service;
  const site = await makeSite(service);
  const basic = Buffer.from(`${site.serverKey}:`).toString('base64');
  const adminToken = readFileSync(ready.adminTokenFile, 'utf8').trim();
  failed =
    !(await tested('edge', ready.edge, [`X-Svc-Key: ${site.serverKey}`, `Authorization: Basic ${basic}`])) || failed;
  failed = !(await tested('control', ready.control, [`Authorization: Bearer ${adminToken}`])) || failed;
  failed = someDied() || failed;
  await site.close();
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}
process.exitCode = failed ? 1 : 0;

/** Runs the tester against a service by its own document; whether it found nothing. */
async function tested(name: string, url: string, headers: string[]): Promise<boolean> {
  console.log(`\n${name}: ${url}/docs/openapi.json`);
  const words = ['--config-file', RULES, 'run', `${url}/docs/openapi.json`, '--url', url];
  const limits = ['--max-examples', values.examples, '--seed', values.seed, '--continue-on-failure'];
  const credentials = headers.flatMap((header) => ['--header', header]);
  // The tester keeps what it found before in its working directory.
  const child = spawn(values.tester, [...words, ...limits, ...credentials], { stdio: 'inherit', cwd: dataDir });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return code === 0;
}

/** Whether a process ended under the test: its supervisor started another, which answers as if nothing had been. */
function someDied(): boolean {
  const died = service
    .output()
    .split('\n')
    .filter((line) => line.includes(' died ('));
  for (const line of died) console.log(line);
  return died.length > 0;
}
