import { ensureJava, type Java } from './java/install.ts';
import { ensureKafkaArchive } from './kafka/archive.ts';
import { ensureKafka } from './kafka/install.ts';
import type { KafkaProgram } from './kafka/plan.ts';
import type { PartName } from './part.ts';
import { whileLocked } from './parts_folder.ts';
import { ensureRedis, type RedisProgram } from './redis/install.ts';
import { ensureRegistryArchive } from './registry/archive.ts';
import { ensureRegistry } from './registry/install.ts';
import type { RegistryProgram } from './registry/plan.ts';

/** Apicurio needs it; Kafka needs 17. */
const REGISTRY_JAVA_MIN = 21;
const KAFKA_JAVA_MIN = 17;

/** What is installed; a part that is not wanted is absent. */
export interface Programs {
  kafka?: KafkaProgram;
  registry?: RegistryProgram;
  redis?: RedisProgram;
}

/** Fetches what the wanted parts need and the parts folder does not hold yet. */
export function installParts(
  partsDir: string,
  wanted: ReadonlySet<PartName>,
  onProgress: (line: string) => void,
): Promise<Programs> {
  return whileLocked(partsDir, async () => {
    const redis = wanted.has('redis') ? ensureRedis(partsDir, onProgress) : undefined;
    const [programs, redisProgram] = await Promise.all([installJavaParts(partsDir, wanted, onProgress), redis]);
    return { ...programs, ...(redisProgram === undefined ? {} : { redis: redisProgram }) };
  });
}

/** One Maven run at a time, as two would write into the same local repository. */
async function installJavaParts(
  partsDir: string,
  wanted: ReadonlySet<PartName>,
  onProgress: (line: string) => void,
): Promise<Programs> {
  if (!wanted.has('kafka') && !wanted.has('registry')) return {};
  const java = await ensureJava(partsDir, wanted.has('registry') ? REGISTRY_JAVA_MIN : KAFKA_JAVA_MIN, onProgress);
  const jars = wanted.has('kafka') ? await ensureKafka(partsDir, onProgress) : undefined;
  const [archive, home] = await Promise.all([
    jars === undefined ? [] : ensureKafkaArchive(partsDir, java, jars, onProgress),
    wanted.has('registry') ? ensureRegistry(partsDir, onProgress) : undefined,
  ]);
  const kafka = jars === undefined ? undefined : { java: java.path, jars, archive };
  const registry = home === undefined ? undefined : await registryProgram(partsDir, java, home, kafka, onProgress);
  return { ...(kafka === undefined ? {} : { kafka }), ...(registry === undefined ? {} : { registry }) };
}

/** With an external Kafka there is no class archive: recording it takes Kafka's jars, which are not fetched then. */
async function registryProgram(
  partsDir: string,
  java: Java,
  home: string,
  kafka: KafkaProgram | undefined,
  onProgress: (line: string) => void,
): Promise<RegistryProgram> {
  const archive = kafka === undefined ? [] : await ensureRegistryArchive(partsDir, java, home, kafka, onProgress);
  return { java: java.path, home, archive };
}
