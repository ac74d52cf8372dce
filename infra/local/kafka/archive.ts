import { basename, join } from 'node:path';
import { ensureClassArchive, recorded } from '../java/class_archive.ts';
import type { Java } from '../java/install.ts';
import { createPart } from '../part.ts';
import { choosePorts } from '../ports.ts';
import { type KafkaProgram, planKafka } from './plan.ts';

/** The broker's class archive, with which it is ready in about 1.1 s instead of 2.3 s. */
export function ensureKafkaArchive(
  partsDir: string,
  java: Java,
  jars: string,
  onProgress: (line: string) => void,
): Promise<string[]> {
  const runOnce = (archive: string[], scratch: string) =>
    withScratchKafka(scratch, { java: java.path, jars, archive }, async () => undefined);
  return ensureClassArchive(partsDir, java, basename(jars), '5 s, 50 MB', runOnce, onProgress);
}

/** Runs work beside a broker of its own, which has its data in `scratch` and is ended gracefully afterwards. */
export async function withScratchKafka(
  scratch: string,
  program: KafkaProgram,
  work: (brokers: string) => Promise<void>,
): Promise<void> {
  const { port, controllerPort } = await choosePorts(scratch, ['port', 'controllerPort']);
  const plan = await planKafka({ folder: scratch, port, controllerPort }, join(scratch, 'kafka.log'), program);
  const part = createPart(recorded(plan), () => undefined);
  try {
    await part.start();
    await work(plan.address);
  } finally {
    await part.stop();
  }
}
