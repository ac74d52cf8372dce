// What is to be said of a schema registry, of what it says of its subjects.
import type { RegistryFacts } from '#infra/registry/inspect.ts';
import { SUBJECT_COMPATIBILITY } from '#infra/registry/schema_registry.ts';
import { type CheckResult, clockCheck, failure, listed, ok, warning } from './check.ts';

const WANTED: string = SUBJECT_COMPATIBILITY;
/** An answer tells the time to the second, as it was when the answer was begun. */
const SECOND_MS = 2_000;

export function registryChecks({ subjects, missing, aheadMs }: RegistryFacts): CheckResult[] {
  const of = (wanted: (level: string | null) => boolean): string[] =>
    [...subjects].flatMap(([topic, level]) => (wanted(level) ? [topic] : []));
  const free = of((level) => level === 'NONE');
  const others = of((level) => level !== WANTED && level !== 'NONE');
  return [
    ok('registry.reachable', 'the registry answers'),
    ...(aheadMs === null ? [] : [clockCheck('registry.clock', 'the registry', aheadMs, SECOND_MS)]),
    missing.length === 0
      ? ok('registry.schemas', `the schemas of ${subjects.size} topics are registered`)
      : failure(
          'registry.schemas',
          `schemas are not registered: ${listed(missing)}`,
          'run node services/provision/main.ts',
        ),
    free.length > 0
      ? failure(
          'registry.compatibility',
          `no compatibility is asked for: ${listed(free)}`,
          `set ${WANTED} for these subjects`,
        )
      : others.length > 0
        ? warning(
            'registry.compatibility',
            `another compatibility than ${WANTED}: ${listed(others)}`,
            'set it, or provisioning refuses the next schema',
          )
        : ok('registry.compatibility', `subjects are ${WANTED}`),
  ];
}
