import { basename, join } from 'node:path';
import { ensureClassArchive, recorded } from '../java/class_archive.ts';
import type { Java } from '../java/install.ts';
import { withScratchKafka } from '../kafka/archive.ts';
import type { KafkaProgram } from '../kafka/plan.ts';
import { createPart } from '../part.ts';
import { choosePorts } from '../ports.ts';
import { planRegistry } from './plan.ts';

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
