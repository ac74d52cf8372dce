import { basename } from 'node:path/posix';

/** Names of a role: the same part of each folder that has one. */
const ROLES = [
  'adapter',
  'app',
  'archive',
  'classify',
  'client',
  'config',
  'errors',
  'events',
  'health_probe',
  'install',
  'main',
  'map',
  'openapi',
  'plan',
  'rebuild',
  'routes',
  'settings',
];

/** Names of a thing that more than one folder has to do with: its type or rule, its store, its routes and its commands. */
const THINGS = [
  'accounts',
  'admission',
  'analyst',
  'audit',
  'block_rules',
  'claims',
  'currency',
  'dead_letters',
  'destinations',
  'domains',
  'event_definitions',
  'inventory',
  'journal',
  'key_use',
  'keys',
  'paths',
  'posthog',
  'refusals',
  'replays',
  'retention',
  'segment',
  'sites',
  'tag_health',
  'tokens',
  'top',
  'trends',
];

const SHARED = new Set([...ROLES, ...THINGS].map((name) => `${name}.ts`));

/** Which files of one name do not say by it what they are, in words. Tests may name theirs as they like. */
export function fileNameViolationsOf(paths: readonly string[]): string[] {
  const byName = Map.groupBy(
    paths.filter((path) => !path.startsWith('test/')),
    (path) => basename(path),
  );
  const repeated = [...byName].filter(([name, of]) => of.length > 1 && !SHARED.has(name));
  return repeated.map(([name, of]) => `${name} may mean any of ${of.join(', ')}`);
}
