import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PartPlan } from '../part.ts';
import { runTool } from '../tool.ts';
import { classPath } from './install.ts';
import { type KafkaNode, renderSettings } from './node_settings.ts';

const LOGGING = fileURLToPath(new URL('./log4j2.properties', import.meta.url));
const CLUSTER_ID = 'local-event-ingest-00w';
const STARTED = 'Kafka Server started';
/**
 * For a quick start on a small machine. Without the second compiler a broker takes two thirds of the CPU time in its first
 * half minute (8.4 s instead of 13.7 s under light load). A broker that runs for days should not be set up this way.
 */
const JAVA_OPTIONS = ['-Xms128m', '-Xmx512m', '-XX:TieredStopAtLevel=1'];

export interface KafkaProgram {
  java: string;
  jars: string;
  /** Java options that name a class archive, when there is one. */
  archive: string[];
}

/** One KRaft node. Its storage is formatted at the first start only. */
export async function planKafka(node: KafkaNode, logPath: string, program: KafkaProgram): Promise<PartPlan> {
  mkdirSync(node.folder, { recursive: true });
  const settings = join(node.folder, 'server.properties');
  writeFileSync(settings, renderSettings(node), { mode: 0o600 });
  await formatOnce(node, settings, program);
  return {
    name: 'kafka',
    address: `127.0.0.1:${node.port}`,
    logPath,
    command: program.java,
    args: [...JAVA_OPTIONS, ...program.archive, ...javaArgs(program.jars), 'kafka.Kafka', settings],
    cwd: node.folder,
    isReady: async () => readFileSync(logPath, 'utf8').includes(STARTED),
  };
}

/** A folder that exists cannot be formatted; one that was left half formatted is deleted and formatted anew. */
async function formatOnce(node: KafkaNode, settings: string, program: KafkaProgram): Promise<void> {
  const mark = join(node.folder, 'formatted');
  if (existsSync(mark)) return;
  rmSync(join(node.folder, 'data'), { recursive: true, force: true });
  const format = ['kafka.tools.StorageTool', 'format', '--cluster-id', CLUSTER_ID, '--config', settings];
  await runTool(program.java, [...javaArgs(program.jars), ...format]);
  writeFileSync(mark, '');
}

function javaArgs(jars: string): string[] {
  return [`-Dlog4j2.configurationFile=${LOGGING}`, '-cp', classPath(jars)];
}
