import { globSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ensureFolder } from './folder_lock.ts';
import { copyArtifact, ensureClassArchive, type Java, pinnedVersion, recorded } from './java.ts';
import { type KafkaProgram, withScratchKafka } from './kafka.ts';
import { choosePorts, createPart, type PartPlan } from './part.ts';
import { runTool } from './tools.ts';

/** Tuned for a quick start and little memory (4.9 s instead of 7.1 s); it serves a handful of requests. */
const JAVA_OPTIONS = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const ASK_TIMEOUT_MS = 5_000;

/** Loopback ports of the API and of the health endpoints. */
interface RegistryPorts {
  registry: number;
  registryHealth: number;
}

export interface RegistryProgram {
  java: string;
  home: string;
  /** Java options that name a class archive, when there is one. */
  archive: string[];
}

/** The schema registry, with its storage in Kafka. Its address is the base of the Confluent API. */
export function planRegistry(
  dataDir: string,
  ports: RegistryPorts,
  kafkaBrokers: string,
  program: RegistryProgram,
): PartPlan {
  const address = `http://127.0.0.1:${ports.registry}/apis/ccompat/v7`;
  const temporaryFolder = join(dataDir, 'registry-tmp');
  return {
    name: 'registry',
    address,
    logPath: join(dataDir, 'log', 'registry.log'),
    command: program.java,
    args: [
      ...JAVA_OPTIONS,
      ...program.archive,
      // The compression library unpacks a file there at each start and does not delete it.
      `-Djava.io.tmpdir=${temporaryFolder}`,
      ...settings(ports, kafkaBrokers),
      '-jar',
      join(program.home, 'quarkus-run.jar'),
    ],
    cwd: program.home,
    // The API answers before the registry has read its topic: for a while it would know only some of the schemas.
    isReady: async () =>
      (await answers(`http://127.0.0.1:${ports.registryHealth}/health/ready`)) && answers(`${address}/subjects`),
    // Version 3.3.3 waits for ever if the broker dies while the registry begins to read its topic.
    readyTimeoutMs: 45_000,
    startsMax: 3,
    temporaryFolder,
  };
}

function settings(ports: RegistryPorts, kafkaBrokers: string): string[] {
  const values: Record<string, string | number> = {
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
  return Object.entries(values).map(([name, value]) => `-D${name}=${value}`);
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) });
  await response.arrayBuffer();
  return response.ok;
}

const ARTIFACT = 'io.apicurio:apicurio-registry-app';

/** The schema registry, unpacked. Returns its folder. */
export function ensureRegistry(partsDir: string, onProgress: (line: string) => void): Promise<string> {
  const version = pinnedVersion('registry');
  return ensureFolder(partsDir, `registry-${version}`, async (draft) => {
    onProgress(`registry ${version}: 159 MB, by Maven`);
    const progress = (done: string) => onProgress(`registry ${version}: ${done} of 159 MB`);
    await copyArtifact(`${ARTIFACT}:${version}:tar.gz:all`, draft, progress);
    for (const name of globSync('*.tar.gz', { cwd: draft })) {
      const archive = join(draft, name);
      await runTool('tar', ['-xzf', archive, '-C', draft]);
      rmSync(archive);
    }
  });
}

/** The registry's class archive, with which it is ready in 4.5 s instead of 6 s. It is recorded with a broker of its own. */
export function ensureRegistryArchive(
  partsDir: string,
  java: Java,
  home: string,
  kafka: KafkaProgram,
  onProgress: (line: string) => void,
): Promise<string[]> {
  const runOnce = (archive: string[], scratch: string) =>
    withScratchKafka(join(scratch, 'kafka'), kafka, async (brokers) => {
      const ports = await choosePorts(scratch, ['registry', 'registryHealth']);
      const plan = planRegistry(scratch, ports, brokers, { java: java.path, home, archive });
      const part = createPart(recorded(plan), () => undefined);
      try {
        await part.start();
      } finally {
        await part.stop();
      }
    });
  return ensureClassArchive(partsDir, java, basename(home), '15 s, 95 MB', runOnce, onProgress);
}
