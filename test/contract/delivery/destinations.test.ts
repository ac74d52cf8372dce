import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { contractSuite } from './contract_suite.ts';
import type { Subject } from './subject.ts';

// A destination in the registry without a subject of its name fails here.
for (const { name } of DESTINATIONS) {
  const { subject } = (await import(`./destinations/${name}.ts`)) as { subject: Subject };
  contractSuite(subject);
}
