import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureFolder } from './folder_lock.ts';
import { classArchive, copyArtifact, type JavaProgram, pinnedVersion } from './java.ts';
import type { PartPlan } from './part.ts';
import { runTool } from './tools.ts';

/** Tuned for a quick start and little memory (4.9 s instead of 7.1 s); it serves a handful of requests. */
const JAVA_OPTIONS = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const ASK_TIMEOUT_MS = 5_000;

/** The schema registry, with its storage in Kafka. Its address is the base of the Confluent API. */
export function planRegistry(
  dataDir: string,
  ports: { registry: number; registryHealth: number },
  kafkaBrokers: string,
  program: JavaProgram,
): PartPlan {
  const address = `http://127.0.0.1:${ports.registry}/apis/ccompat/v7`;
  const { options, ...limits } = classArchive(program);
  const settings: Record<string, string | number> = {
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': ports.registry,
    // By default it listens on every interface.
    'quarkus.management.host': '127.0.0.1',
    'quarkus.management.port': ports.registryHealth,
    'quarkus.log.level': 'WARN',
    'apicurio.storage.kind': 'kafkasql',
    'apicurio.kafkasql.bootstrap.servers': kafkaBrokers,
    'apicurio.kafkasql.consumer.poll.timeout': 200,
  };
  const temporaryFolder = join(dataDir, 'registry-tmp');
  return {
    name: 'registry',
    address,
    logPath: join(dataDir, 'log', 'registry.log'),
    command: program.java.path,
    args: [
      ...JAVA_OPTIONS,
      ...options,
      // The compression library unpacks a file there at each start and does not delete it.
      `-Djava.io.tmpdir=${temporaryFolder}`,
      ...Object.entries(settings).map(([name, value]) => `-D${name}=${value}`),
      '-jar',
      join(program.folder, 'quarkus-run.jar'),
    ],
    cwd: program.folder,
    // The API answers before the registry has read its topic: for a while it would know only some of the schemas.
    isReady: async () =>
      (await answers(`http://127.0.0.1:${ports.registryHealth}/health/ready`)) && answers(`${address}/subjects`),
    // Version 3.3.3 waits for ever if the broker dies while the registry begins to read its topic, which happens to each
    // start while a broker is killed again and again.
    readyTimeoutMs: 45_000,
    startsMax: 6,
    temporaryFolder,
    ...limits,
  };
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) });
  await response.arrayBuffer();
  return response.ok;
}

const ARTIFACT = 'io.apicurio:apicurio-registry-app';

/** The schema registry, unpacked. Returns its folder. */
export function installRegistry(partsDir: string, onProgress: (line: string) => void): Promise<string> {
  const version = pinnedVersion('registry');
  return ensureFolder(partsDir, `registry-${version}`, async (draft) => {
    onProgress(`registry ${version}: fetching 159 MB with Maven`);
    await copyArtifact(`${ARTIFACT}:${version}:tar.gz:all`, draft);
    for (const name of globSync('*.tar.gz', { cwd: draft })) {
      const archive = join(draft, name);
      await runTool('tar', ['-xzf', archive, '-C', draft]);
      rmSync(archive);
    }
  });
}
